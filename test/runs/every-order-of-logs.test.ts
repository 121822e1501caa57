import { expect, test } from 'vitest';
import { hashReference } from '../../src/intake/row/reference-hash.ts';
import { ledgerKeys } from '../../src/ledger/keys.ts';
import { type Ledger, openLedger } from '../../src/ledger/ledger.ts';
import type { PayoutPlace } from '../../src/payout.ts';
import { copyLedger } from '../ledger/test-ledger.ts';
import { freshPrefix, useTestRedis } from '../support/redis.ts';
import { armPayout, movePayout, payoutAt, recordRun, rowAt } from './recorded-run.ts';

const server = await useTestRedis();

/** Most steps of one payout before a copy of Redis is put back. */
const STEPS_MAX = 6;
const HOSTS = ['A', 'B'] as const;
type Host = (typeof HOSTS)[number];

/** What happens to a payout that has at most two quotes; `host`: whose intent log has it. */
type Step =
  | { readonly what: 'arm'; readonly host: Host; readonly quote: number }
  | { readonly what: 'yes'; readonly host: Host; readonly quote: number }
  | { readonly what: 'asked to wait' }
  | { readonly what: 'lost' }
  | { readonly what: 'proven dead' };

interface Before {
  readonly state: 'ready' | 'armed' | 'quoted' | 'unknown';
  readonly quote: number;
  readonly armings: number;
  readonly armed: readonly number[];
}

function stepsAfter({ state, quote, armings, armed }: Before): Step[] {
  const hosts = armed.length === 0 ? HOSTS.slice(0, 1) : HOSTS;
  const arms = (one: number): Step[] => hosts.map((host) => ({ what: 'arm', host, quote: one }));
  const own: Record<Before['state'], Step[]> = {
    ready: quote < 2 ? arms(quote + 1) : [],
    quoted: arms(quote),
    armed: [...(armings < 2 ? [{ what: 'asked to wait' } as const] : []), { what: 'lost' }],
    unknown: [{ what: 'proven dead' }],
  };
  return [...own[state], ...armed.flatMap((one) => HOSTS.map((host) => ({ what: 'yes', host, quote: one }) as const))];
}

function after(before: Before, step: Step): Before {
  if (step.what === 'asked to wait') return { ...before, state: 'quoted' };
  if (step.what === 'lost') return { ...before, state: 'unknown' };
  if (step.what === 'proven dead') return { ...before, state: 'ready' };
  if (step.what === 'yes') return before;
  const { quote } = step;
  const armings = quote === before.quote ? before.armings + 1 : 1;
  return { state: 'armed', quote, armings, armed: [...new Set([...before.armed, quote])] };
}

/** Every story that ends with a yes of the service to one of the quotes. */
function* stories(before: Before, steps: readonly Step[]): Generator<readonly Step[]> {
  if (steps.at(-1)?.what === 'yes') yield steps;
  else if (steps.length < STEPS_MAX)
    for (const step of stepsAfter(before)) yield* stories(after(before, step), [...steps, step]);
}

const idOf = (quote: number): string => `0b9a4c1e-77d2-4f35-8e60-00000000001${quote}`;

/** Plays a story; gives its logs, and what puts Redis back to each moment before its end. */
async function play(ledger: Ledger, prefix: string, story: readonly Step[]) {
  const runId = await recordRun(ledger, { lines: [2] });
  const place = { runId, line: 2 };
  const h = hashReference(rowAt(2).reference);
  const logs: Record<Host, object[]> = { A: [], B: [] };
  const copies: (() => Promise<void>)[] = [];
  for (const step of story) {
    copies.push(await copyLedger(server.redis, prefix));
    if (step.what === 'yes') logs[step.host].push({ y: idOf(step.quote), p: idOf(step.quote), h });
    else if (step.what === 'arm') {
      await armPayout(ledger, place, idOf(step.quote));
      const { quoteExpiresAt, attempts, armingCounter, armedAt } = await payoutAt(ledger, place);
      const file = { r: runId, l: '2', s: `sha-${runId}`, n: `content-${runId}`, h, d: '20261128' };
      const counted = { k: String(attempts), c: armingCounter, o: step.host, t: String(armedAt), f: 'c1' };
      logs[step.host].push({ ...file, q: idOf(step.quote), x: String(quoteExpiresAt), ...counted });
    } else if (step.what === 'proven dead')
      await ledger.payouts.move({ ...place, to: 'ready', dropQuote: 'proven-dead', actor: 'w', reason: 'dead' });
    else await movePayout(ledger, place, step.what === 'lost' ? 'unknown' : 'quoted');
  }
  return { place, logs, copies };
}

async function compare(ledger: Ledger, host: Host, lines: readonly object[]): Promise<void> {
  const { server: now, name } = await ledger.state.season();
  const part = { dataDirId: host, server: now, season: name, last: true, json: JSON.stringify(lines), peers: HOSTS };
  await ledger.state.compare(part);
}

async function openTwoHosts(prefix: string): Promise<Ledger> {
  const ledger = openLedger({ redis: server.redis, arming: server.redis }, { prefix, dataDirId: 'A' });
  const claim = { knownInstance: '', newInstance: 'i1', service: 'sandbox', safety: 'test', requireMatch: true };
  await ledger.state.open(claim);
  for (const host of HOSTS) await ledger.state.enterDir(host);
  for (const host of HOSTS) await ledger.state.notePeers(host, HOSTS);
  for (const host of HOSTS) await compare(ledger, host, []);
  return ledger;
}

/** Redis was restarted, and both hosts compare their logs, in an order. */
async function restart(ledger: Ledger, prefix: string): Promise<void> {
  await server.redis.hset(ledgerKeys(prefix).head, 'season', 'closed 1 1', 'closedFor', '0');
  for (const host of HOSTS) await server.redis.hset(`${prefix}:dirs`, host, '-');
  expect((await ledger.state.season()).open).toBe(false);
}

/** It is held, knows the yes, or has the quote beside its own: then it gets no new one (beside-quotes.test.ts). */
async function isSafe(ledger: Ledger, place: PayoutPlace, said: readonly string[]): Promise<boolean> {
  const { state, quoteId, seen2xx, reasonCode } = await payoutAt(ledger, place);
  if (state === 'held') return reasonCode === 'E_BREACH';
  if (said.includes(quoteId ?? '')) return seen2xx;
  const beside = await ledger.runs.quotesBeside(place.runId, place.line);
  return state === 'unknown' && said.every((id) => beside.includes(id));
}

test('whatever Redis forgets, and in whatever order logs are compared, a payout whose quote the service said yes to gets no other one', {
  timeout: 300_000,
}, async () => {
  const broken: string[] = [];
  let cases = 0;
  for (const story of stories({ state: 'ready', quote: 0, armings: 0, armed: [] }, [])) {
    const prefix = freshPrefix();
    const ledger = await openTwoHosts(prefix);
    const played = await play(ledger, prefix, story);
    const said = story.flatMap((step) => (step.what === 'yes' ? [idOf(step.quote)] : []));
    const ends = played.copies.flatMap((putBack, at) =>
      [HOSTS, HOSTS.toReversed()].map((order) => ({ putBack, at, order })),
    );
    for (const { putBack, at, order } of ends) {
      await putBack();
      await restart(ledger, prefix);
      for (const host of order) await compare(ledger, host, played.logs[host]);
      cases++;
      if (await isSafe(ledger, played.place, said)) continue;
      const { state } = await payoutAt(ledger, played.place);
      broken.push(`${JSON.stringify(story)}, back to ${at}, ${order.join('')}: ${state}`);
    }
  }
  expect(broken).toEqual([]);
  expect(cases).toBeGreaterThan(100);
});
