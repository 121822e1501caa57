import { expect, test } from 'vitest';
import { systemClock, systemRandom } from '../../src/clock.ts';
import { openIntentLog } from '../../src/ledger/intents/intent-log.ts';
import type { PayoutRow } from '../../src/payout.ts';
import { armOn } from '../ledger/recovery-desk.ts';
import { freshRows, movePayout, recordOf, recordRows } from '../ledger/test-ledger.ts';
import { only, useHosts } from './hosts-desk.ts';

const hosts = useHosts();
const ALL = ['dir-a', 'dir-b', 'dir-c'];

interface PayoutFile {
  readonly file: string;
  readonly rows: PayoutRow[];
}

/** Hands a file in, the second time `--again`. */
async function handIn(id: string, { file, rows }: PayoutFile, again: boolean): Promise<void> {
  const { runs } = hosts.desk.ledger;
  const claim = {
    id,
    fileName: 'p.csv',
    fileSha256: file,
    contentHash: `c-${file}`,
    rows: rows.length,
    fileTotals: [],
  };
  expect(await runs.claim({ ...claim, createdBy: 'anna', again })).toMatchObject({ result: 'new' });
  await recordRows(hosts.desk.ledger, id, rows);
  await runs.note(id, { lastLine: String(rows.at(-1)?.line ?? 1) });
  await runs.move(id, { to: 'paying', actor: 'anna', reason: 'submitted' });
}

async function saidYes(dir: string, quoteId: string): Promise<void> {
  const lines = openIntentLog(hosts.host(dir).path, { clock: systemClock, random: systemRandom });
  await lines.noteAnswer({ quoteId, paymentId: quoteId });
  await lines.close();
}

function newId(): string {
  return `20261128-${systemRandom.bytes(3).toString('hex')}`;
}

interface Sent {
  /** Which host learned that the service said yes to the first request, and which one sent the second. */
  readonly told: string;
  readonly second: string;
  /** In which order they compare. */
  readonly order: readonly string[];
}

/** A run that was sent and failed was handed in once more, and sent again; then Redis goes back to before both. */
async function failedAndSentAgain({ told, second, order }: Sent) {
  const { ledger } = hosts.desk;
  const paid = { file: systemRandom.bytes(8).toString('hex'), rows: freshRows(1) };
  const first = newId();
  await handIn(first, paid, false);
  await hosts.forgotten(async () => {
    const one = await only(armOn(hosts.host('dir-a'), first, [2]));
    await saidYes(told, one.quoteId ?? '');
    for (const to of ['unknown', 'accepted', 'failed'] as const)
      await movePayout(ledger, { runId: first, line: 2 }, { to });
    await ledger.runs.move(first, { to: 'finished', actor: 'payrun', reason: '' });
    const again = newId();
    await handIn(again, paid, true);
    const two = await only(armOn(hosts.host(second), again, [2]));
    await saidYes(second, two.quoteId ?? '');
  }, order);
  return { first, ...paid };
}

const SIMPLE: Sent = { told: 'dir-a', second: 'dir-a', order: ALL };

/** People settle it by its payment, and the run ends. */
async function settled(runId: string, to: 'failed' | 'completed'): Promise<void> {
  const { ledger } = hosts.desk;
  await hosts.release();
  for (const state of ['accepted', to] as const) await movePayout(ledger, { runId, line: 2 }, { to: state });
  await ledger.runs.move(runId, { to: 'paying', actor: 'anna', reason: '' });
  await ledger.runs.move(runId, { to: 'finished', actor: 'payrun', reason: '' });
}

test.each<Sent>([
  SIMPLE,
  { told: 'dir-b', second: 'dir-a', order: ALL },
  { told: 'dir-b', second: 'dir-a', order: ['dir-b', 'dir-a', 'dir-c'] },
  { told: 'dir-a', second: 'dir-b', order: ALL },
  { told: 'dir-a', second: 'dir-b', order: ['dir-b', 'dir-a', 'dir-c'] },
  { told: 'dir-c', second: 'dir-b', order: ['dir-b', 'dir-a', 'dir-c'] },
])('after a restore no quote that made a payment is called proven dead: %j', async (sent) => {
  const { first } = await failedAndSentAgain(sent);
  const former = await hosts.desk.ledger.runs.formerQuotes(first);
  expect(former).toHaveLength(1);
  expect(former.filter(({ isProvenDead }) => isProvenDead)).toEqual([]);
});

test('a run that is known as another one stays known as that one after a plain restart, though its file was handed in once more', async () => {
  const { first, file, rows } = await failedAndSentAgain(SIMPLE);
  await settled(first, 'failed');
  const third = newId();
  await handIn(third, { file, rows }, true);
  await hosts.desk.ledger.runs.move(third, { to: 'paused', actor: 'anna', reason: 'it waits' });
  await hosts.restart(ALL);
  expect(await hosts.statesOf(third)).toEqual(['ready']);
  expect((await hosts.desk.ledger.state.read()).halt).toBeNull();
});

test('a plain restart restores nothing of a run that is known as one which was purged', async () => {
  const { ledger } = hosts.desk;
  const { first, rows } = await failedAndSentAgain(SIMPLE);
  await settled(first, 'completed');
  await ledger.runs.leave(first);
  await ledger.runs.takeWatch(-1, Date.now());
  const { changes } = (await ledger.runs.read(first)) ?? { changes: 0 };
  await ledger.runs.note(first, { reportedChanges: String(changes) });
  expect(await ledger.purging.begin(first, 0, Date.now())).toBe('purging');
  await ledger.purging.rows(first, [
    rows.map((row) => ({ line: row.line, referenceHash: recordOf(row).referenceHash })),
  ]);
  await ledger.purging.end(first);
  await hosts.restart(ALL);
  expect((await ledger.state.read()).halt).toBeNull();
  expect(await ledger.runs.list()).toEqual([first]);
});

test('a run whose rows were paid as another one, and that a restore has as not recorded, is filled by that other file', async () => {
  const { ledger } = hosts.desk;
  const paid = { file: systemRandom.bytes(8).toString('hex'), rows: freshRows(1) };
  const first = newId();
  const claim = { id: first, fileName: 'p.csv', fileSha256: paid.file, contentHash: `c-${paid.file}`, rows: 1 };
  await ledger.runs.claim({ ...claim, fileTotals: [], createdBy: 'anna' });
  await hosts.forgotten(async () => {
    await ledger.runs.move(first, { to: 'cancelled', actor: 'bob', reason: 'taken over', isTakenOver: true });
    const second = newId();
    await handIn(second, paid, true);
    await only(armOn(hosts.host('dir-a'), second, [2]));
  }, ALL);
  expect(await ledger.runs.read(first)).toMatchObject({ state: 'recording', isInDoubt: true });
  expect(await ledger.runs.takeFile(first, { sha256: 'other', name: 'q.csv' })).toBe(true);
});
