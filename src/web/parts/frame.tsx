import type { FastifyReply, FastifyRequest } from 'fastify';
import type { JSX } from 'preact';
import { renderToString } from 'preact-render-to-string';
import type { Act } from '../../access/roles.ts';
import { SANDBOX_NAME } from '../../config/config.ts';
import { outagesNoted } from '../../runs/outages.ts';
import { May, MayContext } from '../may.tsx';
import { waitingFor } from '../waiting.ts';
import type { Person, RefusedForm, WebDeps } from '../web.ts';
import { shownCount } from './figures.ts';
import { Icon } from './icon.tsx';
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
  return sendFramed(reply, deps, { ...content, place: await readPlace(deps, who) });
}

/** What stands on top of all pages, for one that has a frame of its own, and the class of its root. */
export async function topOf({ who, url }: FastifyRequest, deps: WebDeps): Promise<{ html: string; root: string }> {
  if (who === null) throw new Error('a page in a frame of its own was shown to somebody who has not signed in');
  const place = await readPlace(deps, who);
  const top = (
    <MayContext.Provider value={who.may}>
      <Top who={who} place={place} path={url} Bar="div" />
    </MayContext.Provider>
  );
  return { html: renderToString(top), root: place.colour };
}

async function readPlace(deps: WebDeps, who: Person): Promise<Place> {
  const [{ halt }, outages, runs] = await Promise.all([
    deps.app.ledger.state.read(),
    outagesNoted(deps.app),
    deps.recentRuns(),
  ]);
  const { approve, held, unknown } = await waitingFor(deps.app, who, runs);
  const counts = { [APPROVE]: approve.length, [SETTLE]: held + unknown };
  return { ...placeOf(deps), halt, outages, counts };
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
        <Top who={who} place={place} path={path} />
        <main id="content" class="container-xl pt-3 pb-5">
          <Head {...content} />
          {refused === null ? null : <RefusalPart refused={refused} />}
          {content.body}
        </main>
      </body>
    </html>
  );
}

interface TopProps extends Pick<FrameProps, 'who' | 'place' | 'path'> {
  /** What it is made of, where the page has a header of its own. */
  readonly Bar?: 'header' | 'div';
}

function Top({ who, place, path, Bar = 'header' }: TopProps) {
  return (
    <>
      <Bar class="bg-surface border-bottom">
        <p class="place m-0 px-3 fw-bold text-center">{place.words}</p>
        {who === null ? null : <Menu who={who} path={path} counts={place.counts} />}
      </Bar>
      {place.halt === null ? null : (
        <p class="halt m-0 px-3 py-2 text-center" role="alert">
          Everything is halted: {place.halt}{' '}
          <a class="text-reset text-decoration-underline" href="/settings#halt">
            Release it by two people
          </a>
        </p>
      )}
      {place.outages.map((words) => (
        <output class="halt d-block px-3 py-2 text-center" key={words}>
          {words}
        </output>
      ))}
    </>
  );
}

function Head({ title, above, below, actions }: PageContent) {
  return (
    <div class="head d-flex flex-wrap gap-2 align-items-start justify-content-between mb-3">
      <div class="mw-100">
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
    <nav aria-label="Main" class="main-nav container-xl d-flex flex-wrap align-items-center gap-1 py-1">
      <a class="d-flex gap-1 me-2 fs-3 fw-bold text-reset" href="/" aria-label="payrun">
        <Icon name="cash-banknote" />
        <span class="d-none d-sm-inline">payrun</span>
      </a>
      <ul class="nav me-auto align-items-center">
        <Links links={LINKS} class={LINK} {...part} />
      </ul>
      <details class="more position-relative">
        <summary class={LINK}>
          More <Icon name="chevron-down" />
        </summary>
        <ul class={FOLD}>
          <Links links={MORE_LINKS} class="dropdown-item" {...part} />
        </ul>
      </details>
      <SearchBox />
      <May act="submit">
        <a class="btn px-2 px-sm-3" href="/upload" aria-label="Upload">
          <Icon name="upload" />
          <span class="d-none d-sm-inline">Upload</span>
        </a>
      </May>
      <details class="own position-relative">
        <summary class={LINK} aria-label={`${who.name} (${who.role})`}>
          <Icon name="user" />
          <span class="d-none d-sm-inline">
            {who.name} ({who.role})
          </span>
        </summary>
        <ul class={FOLD}>
          <Links links={OWN_LINKS} class="dropdown-item" {...part} />
          <li class="px-2 pt-2">
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

const LINK = 'nav-link d-flex align-items-center gap-1 px-2 rounded text-reset text-nowrap';
const FOLD = 'dropdown-menu d-block position-absolute end-0';

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

function Links({ links, class: own, who, path, counts }: MenuProps & { links: readonly Link[]; class: string }) {
  return links
    .filter(({ act }) => who.may(act))
    .map(({ href, words }) => {
      const count = counts[href] ?? 0;
      return (
        <li key={href}>
          <a
            href={href}
            class={own}
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
