import { expect, test } from 'vitest';
import { armOn } from '../ledger/recovery-desk.ts';
import { freshRows, movePayout, payingRun, readPayout, recordOf, sendTo } from '../ledger/test-ledger.ts';
import { useHosts } from './hosts-desk.ts';

const hosts = useHosts();

test('a reference that a purged run was paid by, and that people allowed once more, is not free when the second row failed and a restore forgot it', async () => {
  const { ledger } = hosts.desk;
  const rows = freshRows(1);
  const first = await payingRun(ledger, rows);
  await sendTo(ledger, { runId: first, line: 2 }, 'completed');
  await ledger.runs.move(first, { to: 'finished', actor: 'payrun', reason: '' });
  await ledger.runs.leave(first);
  await ledger.runs.takeWatch(-1, Date.now());
  const { changes } = (await ledger.runs.read(first)) ?? { changes: 0 };
  await ledger.runs.note(first, { reportedChanges: String(changes) });
  expect(await ledger.purging.begin(first, 0, Date.now())).toBe('purging');
  const purged = rows.map((row) => ({ line: row.line, referenceHash: recordOf(row).referenceHash }));
  await ledger.purging.rows(first, [purged]);
  await ledger.purging.end(first);

  const second = await payingRun(ledger, rows);
  expect(await hosts.statesOf(second)).toEqual(['held']);
  await hosts.forgotten(async () => {
    const place = { runId: second, line: 2 };
    const { version } = await readPayout(ledger, place);
    const allowed = { to: 'ready', version, dueMs: 0, sawHolders: [{ id: `${first}-2`, state: '' }] } as const;
    await movePayout(ledger, place, { ...allowed, values: { reasonCode: null, reason: null } });
    await armOn(hosts.host('dir-a'), second, [2]);
  }, ['dir-a', 'dir-b', 'dir-c']);
  expect(await hosts.statesOf(second)).toEqual(['unknown']);
  for (const to of ['accepted', 'failed'] as const) await movePayout(ledger, { runId: second, line: 2 }, { to });
  expect(await hosts.statesOf(await payingRun(ledger, rows))).toEqual(['held']);
});
