import { beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { type ApprovalRules, approvalSetting } from '../../src/config/approval.ts';
import { hashReference } from '../../src/intake/row/reference-hash.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import type { ArmAnswer } from '../../src/ledger/payouts/acts.ts';
import type { Run } from '../../src/payout.ts';
import { Refusal } from '../../src/refusal.ts';
import { blockBeneficiary, readBlocked, unblockBeneficiary } from '../../src/runs/block.ts';
import { approvalOf, approvalsNeeded } from '../../src/runs/decide/approval.ts';
import { type ApproveDeps, approvalStanding, approveRun } from '../../src/runs/decide/approve.ts';
import { pauseRun } from '../../src/runs/decide/control.ts';
import { readRun } from '../../src/runs/read-run.ts';
import { useTestRedis } from '../support/redis.ts';
import { beginRun, freshLedger, movePayout, payoutAt, rowAt } from './recorded-run.ts';

const HOUR_MS = 3_600_000;
const ONE: ApprovalRules = { name: 'one', tiers: null, holdsMs: HOUR_MS };
const TWO: ApprovalRules = {
  name: 'two',
  tiers: new Map([['USD', [{ from: 0n, approvals: 2 }]]]),
  holdsMs: HOUR_MS,
};
/** Of the files of recorded-run.ts. */
const SHA256 = 'sha-r1';

const server = await useTestRedis();
let ledger: Ledger;
let woken: string[];

beforeEach(async () => {
  ledger = await freshLedger(server.redis);
  woken = [];
});

function depsOf(approval: ApprovalRules | null = ONE, limits: { name: string } | null = null): ApproveDeps {
  return {
    ledger,
    clock: systemClock,
    config: { approval, limits },
    async wake(runId) {
      woken.push(runId);
    },
  };
}

/** Two payouts of 100.50 USD, handed in by `test`. */
async function waitingRun(): Promise<string> {
  const id = await beginRun(ledger, { lines: [2, 3] });
  await ledger.runs.move(id, { from: 'recording', to: 'awaiting-approval', actor: 'test', reason: 'submitted' });
  return id;
}

async function refusalOf(act: Promise<unknown>): Promise<string> {
  const error: unknown = await act.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (error instanceof Refusal) return error.message;
  throw new Error('it was not refused', { cause: error });
}

async function endOfProcess(): Promise<never> {
  throw new Error('the process ended');
}

/** As the door by which the run came would have noted it. */
async function noteSealed(runId: string, fields: Record<string, string>): Promise<void> {
  await ledger.runs.note(runId, fields);
  await ledger.runs.note(runId, { seal: ledger.seals.run(await readRun(depsOf(), runId)) });
}

const by = (actor: string, sha256 = SHA256) => ({ actor, sha256 });

async function arm(run: Run, line: number, deps: ApproveDeps): Promise<ArmAnswer> {
  const { version, seals, row } = await payoutAt(ledger, { runId: run.id, line });
  return await ledger.payouts.arm({
    runId: run.id,
    line,
    version,
    rowSeal: seals.row,
    referenceHash: hashReference(row.reference),
    quoteId: `q-${line}`,
    quoteExpiresAt: 1,
    owner: 'test',
    credentials: 'c1',
    dueMs: 60_000,
    exchange: '',

    approval: approvalOf(run, deps.config),
  });
}

describe('a run that waited when the rules of approval were taken away', () => {
  test('is let go by one other person still, and by nobody else', async () => {
    const id = await waitingRun();
    expect(await refusalOf(approveRun(depsOf(null), id, by('test')))).toContain('another person approves it');
    const { run, missing } = await approveRun(depsOf(null), id, by('bob'));
    expect([run.state, missing]).toEqual(['paying', 0]);
    expect(await arm(run, 2, depsOf(null))).toMatchObject({ armed: true });
  });
});

describe('a run that waits for its approval', () => {
  test('is paid once another person approved it, and that is on the audit log', async () => {
    const runId = await waitingRun();
    const { run, missing } = await approveRun(depsOf(), runId, by('bob'));
    expect({ state: run.state, missing }).toEqual({ state: 'paying', missing: 0 });
    expect(run.approvals).toMatchObject([{ by: 'bob' }]);
    expect(woken).toContain(runId);
    const lines: string[] = [];
    for await (const line of ledger.audit.lines()) lines.push(line);
    expect(lines.at(-1)).toContain('"action":"run.approved"');
    expect(lines.at(-1)).toContain('"fileSha256":"sha-r1"');
  });

  test.each(['test', 'TEST', ' Test '])('is not approved by who handed it in, as %j', async (actor) => {
    const runId = await waitingRun();
    expect(await refusalOf(approveRun(depsOf(), runId, by(actor)))).toContain('handed it in');
    expect((await readRun(depsOf(), runId)).state).toBe('awaiting-approval');
  });

  test.each([
    ['key erp of Bob', 'bob'],
    ['key erp of bob', 'BOB '],
    ['key erp of x of bob', 'bob'],
    ['schedule morning of Bob', 'bob'],
  ])('that %j handed in is not approved by %j, who made the key or set the schedule', async (createdBy, actor) => {
    const runId = await waitingRun();
    await noteSealed(runId, { createdBy });
    expect(await refusalOf(approveRun(depsOf(), runId, by(actor)))).toContain('handed it in');
  });

  test('that lay in an inbox needs one person more where nobody is named who put it there', async () => {
    const runId = await waitingRun();
    await noteSealed(runId, { dropper: '' });
    expect(await approveRun(depsOf(), runId, by('bob'))).toMatchObject({ missing: 1, run: { dropper: '' } });
    expect(await approveRun(depsOf(), runId, by('carol'))).toMatchObject({ missing: 0, run: { state: 'paying' } });
  });

  test('that lay in an inbox is not approved by whoever put it there, nor by whoever set the schedule', async () => {
    const runId = await waitingRun();
    await noteSealed(runId, { createdBy: 'schedule morning of bob', dropper: 'Anna' });
    expect(await refusalOf(approveRun(depsOf(), runId, by('anna')))).toContain('Anna handed it in');
    expect(await refusalOf(approveRun(depsOf(), runId, by('bob')))).toContain('schedule morning of bob handed it in');
    expect(await approveRun(depsOf(), runId, by('carol'))).toMatchObject({ missing: 0, run: { state: 'paying' } });
  });

  test.each([
    ['key erp of bob', 'carol'],
    ['key erp of jacob', 'cob'],
    ['keyed of bob', 'bob'],
  ])('that %j handed in is approved by %j', async (createdBy, actor) => {
    const runId = await waitingRun();
    await noteSealed(runId, { createdBy });
    expect((await approveRun(depsOf(), runId, by(actor))).run.state).toBe('paying');
  });

  test('is not approved for limits or rules that were others when it was shown', async () => {
    const runId = await waitingRun();
    const { digest } = approvalStanding(depsOf(ONE, { name: 'old' }), await readRun(depsOf(), runId), []);
    const deps = depsOf(ONE, { name: 'new' });
    expect(await refusalOf(approveRun(deps, runId, { ...by('bob'), digest }))).toContain('have changed');
    const now = approvalStanding(deps, await readRun(deps, runId), []).digest;
    expect((await approveRun(deps, runId, { ...by('bob'), digest: now })).run.state).toBe('paying');
  });

  test('is not approved for another file than it is', async () => {
    const runId = await waitingRun();
    expect(await refusalOf(approveRun(depsOf(), runId, by('bob', 'sha-r2')))).toContain('has the SHA-256 sha-r1');
  });

  test('takes as many people as its totals ask for, and nobody counts twice', async () => {
    const runId = await waitingRun();
    const deps = depsOf(TWO);
    expect((await approveRun(deps, runId, by('bob'))).missing).toBe(1);
    expect(await refusalOf(approveRun(deps, runId, by('Bob')))).toContain('has approved it');
    expect((await readRun(deps, runId)).state).toBe('awaiting-approval');
    expect((await approveRun(deps, runId, by('carol'))).run.state).toBe('paying');
  });

  test('and something that ended before the run was let go is made up for by the same word again', async () => {
    const runId = await waitingRun();
    const dying = { ...depsOf(), ledger: { ...ledger, runs: { ...ledger.runs, move: endOfProcess } } };
    await expect(approveRun(dying, runId, by('bob'))).rejects.toThrow(/the process ended/);
    expect((await readRun({ ledger }, runId)).state).toBe('awaiting-approval');
    const { run, missing } = await approveRun(depsOf(), runId, by('bob'));
    expect([run.state, run.approvals.length, missing]).toEqual(['paying', 1, 0]);
    expect(woken).toEqual([runId]);
  });

  test('is paid after two approvals that come at the same moment', async () => {
    const runId = await waitingRun();
    const deps = depsOf(TWO);
    await Promise.all([approveRun(deps, runId, by('bob')), approveRun(deps, runId, by('carol'))]);
    const run = await readRun(deps, runId);
    expect(run.state).toBe('paying');
    expect(run.approvals.map((one) => one.by).toSorted()).toEqual(['bob', 'carol']);
  });

  test('waits again when an approval was for other limits', async () => {
    const runId = await waitingRun();
    await approveRun(depsOf(TWO, { name: 'old' }), runId, by('bob'));
    expect((await approveRun(depsOf(TWO, { name: 'new' }), runId, by('carol'))).missing).toBe(1);
  });

  test('keeps the time that it was given to start at, however it came to wait for its approval', async () => {
    const runId = await beginRun(ledger, { lines: [2, 3] });
    await ledger.runs.note(runId, { startAt: String(Date.now() + HOUR_MS), startReason: 'it starts later' });
    await ledger.runs.move(runId, { from: 'recording', to: 'awaiting-approval', actor: 'test', reason: 'submitted' });
    expect((await approveRun(depsOf(), runId, by('bob'))).run).toMatchObject({
      state: 'paused',
      startAt: expect.any(Number),
      pauseReason: 'it starts later',
    });
  });

  test('does not start past a cut-off that came while it waited', async () => {
    const runId = await waitingRun();
    await ledger.runs.note(runId, { currencies: 'EUR USD' });
    const now = Date.UTC(2026, 10, 22, 12);
    const weekend = {
      zone: 'UTC',
      opens: '08:00',
      cutOff: '16:00',
      weekend: ['sat', 'sun'] as const,
      holidays: new Set<string>(),
    };
    const deps = { ...depsOf(), clock: { ...systemClock, now: () => now } };
    const { run } = await approveRun(
      { ...deps, config: { ...deps.config, calendars: { EUR: weekend } } },
      runId,
      by('bob'),
    );
    expect(run).toMatchObject({
      state: 'paused',
      startAt: Date.UTC(2026, 10, 23, 8),
      pauseReason: expect.stringContaining('EUR'),
    });
  });
});

describe('nothing is armed', () => {
  test('in a run whose approval was for something else, or has passed', async () => {
    const runId = await waitingRun();
    await approveRun(depsOf(), runId, by('bob'));
    const run = await readRun(depsOf(), runId);
    expect(await arm(run, 2, depsOf(ONE, { name: 'other' }))).toEqual({ armed: false, refusal: 'approval' });
    expect(await arm({ ...run, rows: 3 }, 2, depsOf())).toEqual({ armed: false, refusal: 'approval' });
    expect(await arm(run, 2, depsOf())).toMatchObject({ armed: true });
    await server.redis.hset(`${await prefixOf()}:run:${runId}`, 'approvedUntil', String(Date.now() - 1));
    expect(await arm(run, 3, depsOf())).toEqual({ armed: false, refusal: 'approval' });
  });

  test('in a run that nobody approved, also when its state says that it is paid', async () => {
    const runId = await waitingRun();
    await server.redis.hset(`${await prefixOf()}:run:${runId}`, 'state', 'paying');
    expect(await arm(await readRun(depsOf(), runId), 2, depsOf())).toEqual({ armed: false, refusal: 'approval' });
  });

  test('for a beneficiary who is blocked, at once and in all runs, until two people end it', async () => {
    const runId = await waitingRun();
    await approveRun(depsOf(), runId, by('bob'));
    const run = await readRun(depsOf(), runId);
    const { beneficiaryIdentityId: id } = rowAt(2);
    await blockBeneficiary({ ledger }, id, { actor: 'ann', reason: 'account taken over' });
    expect(await arm(run, 2, depsOf())).toEqual({ armed: false, refusal: 'blocked' });
    expect(await readBlocked({ ledger })).toMatchObject([{ identityId: id, by: 'ann', reason: 'account taken over' }]);
    expect(await unblockBeneficiary({ ledger }, id, 'ann')).toBe('proposed');
    expect(await unblockBeneficiary({ ledger }, id, 'Ann')).toBe('same-person');
    expect(await arm(run, 2, depsOf())).toEqual({ armed: false, refusal: 'blocked' });
    expect(await unblockBeneficiary({ ledger }, id, 'bob')).toBe('unblocked');
    expect(await arm(run, 2, depsOf())).toMatchObject({ armed: true });
  });
});

test('an approval that has passed can be given again while the run is paused', async () => {
  const runId = await waitingRun();
  await approveRun(depsOf(), runId, by('bob'));
  const { approvals } = await readRun(depsOf(), runId);
  const long = approvals.map(({ by: person, digest, at }) => {
    const earlier = { by: person, digest, at: at - 2 * HOUR_MS };
    return { ...earlier, seal: ledger.seals.approval(runId, earlier) };
  });
  await server.redis.hset(`${await prefixOf()}:run:${runId}`, 'approvals', JSON.stringify(long), 'approvedUntil', '1');
  await pauseRun(depsOf(), runId, { actor: 'payrun', reason: 'E_APPROVAL' });
  expect((await approveRun(depsOf(), runId, by('bob'))).run.state).toBe('paused');
  await ledger.runs.move(runId, { to: 'paying', actor: 'ann', reason: 'go on' });
  expect(await arm(await readRun(depsOf(), runId), 2, depsOf())).toMatchObject({ armed: true });
});

test('a payout that is held is not what an approval is for', async () => {
  const runId = await waitingRun();
  await movePayout(ledger, { runId, line: 2 }, 'held');
  expect((await approveRun(depsOf(), runId, by('bob'))).run.state).toBe('paying');
});

const usd = (minor: bigint) => ({ minor, currency: 'USD' });
const parse = (json: unknown): ApprovalRules | null => approvalSetting.parse(json);

describe('the rules', () => {
  test('off asks nobody, on asks one person for each run', () => {
    expect(approvalsNeeded(parse({ mode: 'off' }), [usd(1n)])).toBe(0);
    expect(approvalsNeeded(parse({ mode: 'on' }), [usd(1n)])).toBe(1);
  });

  test.each<[bigint, number]>([
    [99_999n, 0],
    [100_000n, 1],
    [4_999_999n, 1],
    [5_000_000n, 2],
  ])('tiers ask by the highest that a total reaches: %i cents, %i people', (minor, people) => {
    const tiers = {
      USD: [
        { from: '50000.00', approvals: 2 },
        { from: '1000', approvals: 1 },
      ],
    };
    const rules = parse({ mode: 'tiers', tiers });
    expect(approvalsNeeded(rules, [usd(minor)])).toBe(people);
    expect(approvalsNeeded(rules, [usd(minor), { minor: 1n, currency: 'EUR' }])).toBe(Math.max(1, people));
  });

  test.each([
    [{ mode: 'tiers', tiers: { USD: [{ from: '1.001', approvals: 1 }] } }],
    [{ mode: 'on', tiers: { USD: [{ from: '1', approvals: 1 }] } }],
    [{ mode: 'maybe' }],
    [{ mode: 'tiers', tiers: { USD: [{ from: '1', approvals: 99 }] } }],
  ])('that make no sense are refused: %j', (json) => {
    expect(approvalSetting.safeParse(json).success).toBe(false);
  });
});

async function prefixOf(): Promise<string> {
  const [key = ''] = await server.redis.keys('*:run:r1');
  const all = await server.redis.keys('*:run:r1');
  const own = await Promise.all(all.map(async (one) => [one, await server.redis.hget(one, 'createdAt')] as const));
  const newest = own.toSorted(([, a], [, b]) => Number(b) - Number(a))[0]?.[0] ?? key;
  return newest.replace(/:run:r1$/, '');
}
