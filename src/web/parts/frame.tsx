import type { FastifyReply } from 'fastify';
import type { JSX } from 'preact';
import { renderToString } from 'preact-render-to-string';
import type { Act } from '../../access/roles.ts';
import { SANDBOX_NAME } from '../../config/config.ts';
import { outagesNoted } from '../../runs/outages.ts';
import { waitingFor } from '../waiting.ts';
import type { Person, RefusedForm, WebDeps } from '../web.ts';
import { shownCount } from './figures.ts';
import { Icon } from './icon.tsx';
import { May, MayContext } from './may.tsx';
import { labelOf } from './read-form.ts';
import { RefusalPart } from './refusal-part.tsx';
import { CsrfContext, RefusedContext } from './refused-context.ts';
import { ZoneContext } from './time.tsx';

interface Place {
  /** Whose money moves: the sandbox's, a test environment's, or real money. */
  readonly colour: 'sandbox' | 'test' | 'prod';
  readonly words: string;
  readonly halt: string | null;
  /** What workers wait for, each in a sentence. */
  readonly outages: readonly string[];
  /** How many wait behind a link of the menu. */
  readonly counts: Readonly<Record<string, number>>;
}

interface PageContent {
  readonly title: string;
  readonly body: JSX.Element;
  /** Stands small above the title, below it, and at its right. */
  readonly above?: JSX.Element;
  readonly below?: JSX.Element;
  readonly actions?: JSX.Element;
}

interface Link {
  readonly href: string;
  readonly words: string;
  readonly act: Act;
}

const APPROVE = '/runs?state=awaiting-approval';
const SETTLE = '/to-settle';
const LINKS: readonly Link[] = [
  { href: '/', words: 'Today', act: 'read' },
  { href: '/runs', words: 'Runs', act: 'read' },
  { href: APPROVE, words: 'Approve', act: 'approve' },
  { href: SETTLE, words: 'To settle', act: 'read' },
  { href: '/schedules', words: 'Schedules', act: 'read' },
  { href: '/inbox', words: 'Inbox', act: 'read' },
];
const MORE_LINKS: readonly Link[] = [
  { href: '/block-list', words: 'Blocked', act: 'read' },
  { href: '/settings', words: 'Settings', act: 'read' },
  { href: '/users', words: 'Users', act: 'users' },
  { href: '/audit', words: 'Audit', act: 'audit' },
];
const OWN_LINKS: readonly Link[] = [
  { href: '/password', words: 'Password', act: 'read' },
  { href: '/second-factor', words: 'Second factor', act: 'read' },
  { href: '/sessions', words: 'Sessions', act: 'read' },
];

/** Answers with a page in the frame that all pages share. */
export async function sendPage(reply: FastifyReply, deps: WebDeps, content: PageContent): Promise<FastifyReply> {
  // Why everything is halted, or waits, is for those who have signed in.
  const { who } = reply.request;
  if (who === null) return sendPageAlone(reply, deps, content);
  const [{ halt }, outages, runs] = await Promise.all([
    deps.app.ledger.state.read(),
    outagesNoted(deps.app),
    deps.recentRuns(),
  ]);
  const { approve, held, unknown } = await waitingFor(deps.app, who, runs);
  const counts = { [APPROVE]: approve.length, [SETTLE]: held + unknown };
  return sendFramed(reply, deps, { ...content, place: { ...placeOf(deps), halt, outages, counts } });
}

/** The same without a look at the ledger, which may be what has failed. */
export function sendPageAlone(reply: FastifyReply, deps: WebDeps, content: PageContent): FastifyReply {
  return sendFramed(reply, deps, { ...content, place: { ...placeOf(deps), halt: null, outages: [], counts: {} } });
}

function sendFramed(reply: FastifyReply, { zone }: WebDeps, content: PageContent & { place: Place }): FastifyReply {
  const { who, url, refused } = reply.request;
  const page = (
    <ZoneContext.Provider value={zone}>
      <CsrfContext.Provider value={who?.csrf ?? ''}>
        <RefusedContext.Provider value={refused}>
          <MayContext.Provider value={(act) => who?.may(act) === true}>
            <Frame {...content} who={who} path={refused?.page ?? url} refused={refused} />
          </MayContext.Provider>
        </RefusedContext.Provider>
      </CsrfContext.Provider>
    </ZoneContext.Provider>
  );
  return reply.type('text/html; charset=utf-8').send(`<!doctype html>\n${renderToString(page)}`);
}

function placeOf({ app }: WebDeps): Pick<Place, 'colour' | 'words'> {
  if (app.serviceName === SANDBOX_NAME) return { colour: 'sandbox', words: 'Sandbox: no money moves' };
  const environment = app.config.service?.environment ?? 'test';
  return { colour: environment, words: environment === 'prod' ? 'Production: real money' : 'Test environment' };
}

interface FrameProps extends PageContent {
  readonly who: Person | null;
  readonly place: Place;
  readonly path: string;
  readonly refused: RefusedForm | null;
}

function Frame({ who, place, path, refused, ...content }: FrameProps) {
  return (
    <html lang="en" class={place.colour}>
      <head>
        <meta charset="utf-8" />
        <title>{`${refusalWords(refused)}${content.title} · payrun`}</title>
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <link rel="stylesheet" href="/static/look/tabler.css" />
        <link rel="stylesheet" href="/static/payrun.css" />
        <link rel="icon" href="/static/icon.svg" type="image/svg+xml" />
        <script src="/static/payrun.js" defer />
      </head>
      <body>
        <a class="visually-hidden-focusable" href="#content">
          Skip to the content
        </a>
        <header class="top">
          <p class="place">{place.words}</p>
          {who === null ? null : <Menu who={who} path={path} counts={place.counts} />}
        </header>
        {place.halt === null ? null : (
          <p class="halt" role="alert">
            Everything is halted: {place.halt} <a href="/settings#halt">Release it by two people</a>
          </p>
        )}
        {place.outages.map((words) => (
          <p class="halt" key={words}>
            {words}
          </p>
        ))}
        <main id="content" class="container-xl">
          <Head {...content} />
          {refused === null ? null : <RefusalPart refused={refused} />}
          {content.body}
        </main>
      </body>
    </html>
  );
}

function Head({ title, above, below, actions }: PageContent) {
  return (
    <div class="head">
      <div>
        {above === undefined ? null : <p class="small">{above}</p>}
        <h1>{title}</h1>
        {below}
      </div>
      {actions}
    </div>
  );
}

function refusalWords(refused: RefusedForm | null): string {
  if (refused === null) return '';
  return refused.mayBeDone ? 'Perhaps not done: ' : 'Not done: ';
}

interface MenuProps {
  readonly who: Person;
  readonly path: string;
  readonly counts: Place['counts'];
}

function Menu({ who, path, counts }: MenuProps) {
  const part = { who, path, counts };
  return (
    <nav aria-label="Main" class="main-nav container-xl">
      <a class="brand" href="/">
        <Icon name="cash-banknote" /> payrun
      </a>
      <ul>
        <Links links={LINKS} {...part} />
        <li>
          <details class="menu">
            <summary>
              More <Icon name="chevron-down" />
            </summary>
            <ul>
              <Links links={MORE_LINKS} {...part} />
            </ul>
          </details>
        </li>
      </ul>
      <SearchBox />
      <May act="submit">
        <a class="btn" href="/upload">
          <Icon name="upload" /> Upload
        </a>
      </May>
      <details class="menu own">
        <summary>
          <Icon name="user" /> {who.name} ({who.role})
        </summary>
        <ul>
          <Links links={OWN_LINKS} {...part} />
          <li>
            <form method="post" action="/sign-out">
              <input type="hidden" name="csrf" value={who.csrf ?? ''} />
              <button type="submit" class="btn w-100">
                Sign out
              </button>
            </form>
          </li>
        </ul>
      </details>
    </nav>
  );
}

/** In all runs, from every page. */
function SearchBox() {
  return (
    <search class="search-box">
      <form method="get" action="/search">
        <label class="visually-hidden" for="search-all">
          {labelOf('text')}
        </label>
        <input
          id="search-all"
          type="search"
          class="form-control"
          name="text"
          maxLength={100}
          placeholder="Reference, name, amount, payment"
        />
      </form>
    </search>
  );
}

function Links({ links, who, path, counts }: MenuProps & { links: readonly Link[] }) {
  return links
    .filter(({ act }) => who.may(act))
    .map(({ href, words }) => {
      const count = counts[href] ?? 0;
      return (
        <li key={href}>
          <a
            href={href}
            aria-current={path === href || (href !== '/' && path.startsWith(`${href}/`)) ? 'page' : undefined}
          >
            {words}
            {count === 0 ? null : (
              <span class="badge tone-wait">
                {shownCount(count)}
                <span class="visually-hidden"> {count === 1 ? 'waits' : 'wait'} for you</span>
              </span>
            )}
          </a>
        </li>
      );
    });
}
