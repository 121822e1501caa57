import { describe, expect, test } from 'vitest';
import { may, ROLES, type Role } from '../../src/access/roles.ts';
import type { App } from '../../src/app.ts';
import { beginRun, movePayout, recordRun } from '../runs/recorded-run.ts';
import { useTestRedis } from '../support/redis.ts';
import { ACTS } from './acts.ts';
import { formsOf, linksOf } from './page-html.ts';
import type { Visitor } from './visitor.ts';
import { fillSite, openWholeSite, uploadMistakes } from './whole-site.ts';

const server = await useTestRedis();

const BLOCKED = '9a6ee577-1d2f-42c8-a8de-fe56e6868a6e';
/** Pages of a library, which ask with its script. */
const BOARD = '/admin/queues';

/** A run in each state that people see, with something for people to decide; files in the folders of other pages. */
async function fillAll(app: App, admin: Visitor): Promise<void> {
  await fillSite(app, admin);
  const waits = await beginRun(app.ledger, { id: 'waits', lines: [12] });
  await app.ledger.runs.move(waits, { to: 'awaiting-approval', actor: 'test', reason: 'test' });
  const stopped = await recordRun(app.ledger, { id: 'stopped', lines: [22, 23] });
  await movePayout(app.ledger, { runId: stopped, line: 22 }, 'armed', 'unknown');
  await app.ledger.runs.move(stopped, { to: 'paused', actor: 'test', reason: 'test' });
  const over = await recordRun(app.ledger, { id: 'over', lines: [32, 33] });
  await movePayout(app.ledger, { runId: over, line: 32 }, 'armed', 'accepted', 'completed');
  await movePayout(app.ledger, { runId: over, line: 33 }, 'armed', 'accepted', 'failed');
  await app.ledger.runs.move(over, { to: 'finished', actor: 'test', reason: 'over' });
  await admin.post('/block-list', { identityId: BLOCKED, reason: 'a test' });
  await admin.post('/schedules', { name: 'daily', cron: '0 9 * * *', task: 'intake', inbox: app.config.dataDir });
}

/** Addresses that differ in nothing but what stands in their queries lead to the same place. */
function placeOf(href: string): string {
  const { pathname, searchParams } = new URL(href, 'http://page');
  return `${pathname}?${[...new Set(searchParams.keys())].toSorted().join('&')}`;
}

interface Seen {
  /** Each page with where it was found. */
  readonly pages: Map<string, string>;
  /** Links that are refused, and forms that would be. */
  readonly refused: string[];
}

/** Follows all links of all pages, from the first one. */
async function crawl(person: Visitor, role: Role): Promise<Seen> {
  const pages = new Map<string, string>();
  const refused: string[] = [];
  const toSee = [{ href: '/', on: 'the start' }];
  for (let next = toSee.pop(); next !== undefined; next = toSee.pop()) {
    const { href, on } = next;
    const place = placeOf(href);
    if (pages.has(place) || place.startsWith(BOARD)) continue;
    pages.set(place, on);
    const { status, headers, text } = await person.get(href);
    const to = headers.get('location');
    if (to !== null) toSee.push({ href: to, on: href });
    // A file without rows is told with 409, whoever asks for it.
    if (status >= 400 && status !== 409) refused.push(`${status} ${href} on ${on}`);
    if (headers.get('content-type')?.startsWith('text/html') !== true) continue;
    refused.push(
      ...formsOf(text)
        .filter(({ action }) => !mayPost(role, action))
        .map(({ action }) => `the form ${action} on ${href}`),
    );
    toSee.push(...linksOf(text, href).map((link) => ({ href: link, on: href })));
  }
  return { pages, refused };
}

function mayPost(role: Role, action: string): boolean {
  const { pathname } = new URL(action, 'http://page');
  const route = Object.keys(ACTS).find((one) => {
    const [method, path = ''] = one.split(' ');
    return method === 'POST' && new RegExp(`^${path.replaceAll(/:\w+/g, '[^/]+')}$`).test(pathname);
  });
  const act = route === undefined ? undefined : ACTS[route];
  return act === 'public' || (act !== undefined && may(role, act));
}

describe.each(ROLES)('what a %s is shown', (role) => {
  test('leads nowhere that their role may not see, and offers nothing that it may not do, where there is much', async () => {
    const { app, person } = await openWholeSite(server);
    await fillAll(app, await person('ada', 'admin'));
    const anna = await person('anna', role);
    if (may(role, 'submit')) await uploadMistakes(anna);
    const { pages, refused } = await crawl(anna, role);
    expect(refused).toEqual([]);
    expect([...pages.keys()]).toEqual(
      expect.arrayContaining(['/runs/over?', '/runs/waits?', '/to-settle?', '/audit?', '/settings?', '/schedules?']),
    );
  });

  test('leads nowhere that their role may not see where there is nothing yet', async () => {
    const { person } = await openWholeSite(server);
    const { refused } = await crawl(await person('anna', role), role);
    expect(refused).toEqual([]);
  });
});
