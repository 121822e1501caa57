import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Redis } from 'ioredis';
import { expect, onTestFinished } from 'vitest';
import { NOT_FOUND_CODE } from '../../src/capabilities.ts';
import { type Clock, systemClock, systemRandom } from '../../src/clock.ts';
import { CAPABILITIES } from '../../src/config/config.ts';
import { hashReference } from '../../src/intake/row/reference-hash.ts';
import { type IntentLine, isIntent } from '../../src/ledger/intents/intent-line.ts';
import { type IntentLog, intentFiles, openIntentLog, readIntentFile } from '../../src/ledger/intents/intent-log.ts';
import { ledgerKeys } from '../../src/ledger/keys.ts';
import { type Ledger, openLedger } from '../../src/ledger/ledger.ts';
import { rowFields } from '../../src/ledger/payouts/record.ts';
import { openTokenStore } from '../../src/ledger/people/token-store.ts';
import { ensureSeason } from '../../src/ledger/season/season.ts';
import { silentLog } from '../../src/log.ts';
import { type AtCrashPoint, noCrash } from '../../src/pay/crash-point.ts';
import type { PayDeps, PayRules } from '../../src/pay/deps.ts';
import { openKnownBlockList } from '../../src/pay/known-block-list.ts';
import type { Canary } from '../../src/pay/look-up/canary.ts';
import { lookUpPayout } from '../../src/pay/look-up/look-up.ts';
import { openPace, openQuoteLead } from '../../src/pay/pace.ts';
import { payPayout } from '../../src/pay/pay-payout.ts';
import { openSharedBrake } from '../../src/pay/shared-brake.ts';
import type { PayResult } from '../../src/pay/step-result.ts';
import { type Payout, type PayoutRow, payoutId, type Run, type RunState } from '../../src/payout.ts';
import { connectRedis } from '../../src/redis/connect.ts';
import { openService } from '../../src/service/client.ts';
import type { TokenStore } from '../../src/service/token.ts';
import { openSeal } from '../../src/service/token-seal.ts';
import { ROW } from './payout-row.ts';
import { dueOf, readValues } from './records.ts';
import { freshPrefix, type TestRedis } from './redis.ts';
import { type ScriptedService, startScriptedService } from './scripted-service.ts';

export const GRACE_MS = 1000;
export const GAP_MS = 1000;
const FILE_SHA256 = 'f'.repeat(64);
const REMEMBER_MS = 86_400_000;
const DATA_DIR_ID = 'dir-1';

/** What tells one process of the rig from another. */
export interface ProcessOptions {
  readonly at?: AtCrashPoint;
  readonly clock?: Clock;
  readonly rules?: Partial<PayRules>;
  /** Base address; the scripted service unless told. The fingerprint of the credentials is the same for all. */
  readonly url?: string;
  readonly clientId?: string;
  readonly clientSecret?: string;
  readonly tenantId?: string;
  readonly intents?: IntentLog;
  /** Where its armings go, when not straight to the Redis. */
  readonly armingSocket?: string;
  /** A token at hand, so that none has to be asked for. */
  readonly hasToken?: boolean;
  /** One that always sings, unless told. */
  readonly canary?: Canary;
}

export interface PayRig {
  readonly service: ScriptedService;
  readonly ledger: Ledger;
  readonly redis: Redis;
  readonly prefix: string;
  readonly dataDir: string;
  readonly runId: string;
  /** A process that works on the run: its own owner, service client, intent log and connection for armings. */
  process(options?: ProcessOptions): Promise<PayDeps>;
  pay(deps: PayDeps, line?: number, signal?: AbortSignal): Promise<PayResult>;
  lookUp(deps: PayDeps, line?: number): Promise<void>;
  payout(line?: number): Promise<Payout>;
  run(): Promise<Run>;
  moveRun(to: RunState): Promise<void>;
  /** Every arming in the intent logs. */
  intentLines(): Promise<IntentLine[]>;
  /** Time passes at the service, and for processes that read Redis's or their own clock. */
  passTime(ms: number): Promise<void>;
  /** Milliseconds that the service asked everybody to wait. */
  waitMs(): Promise<number>;
  /** The payout's fields as they stand in Redis. */
  record(line?: number): Promise<Record<string, string>>;
  /** Milliseconds until the payout is due; undefined when it is not. */
  dueMs(line?: number): Promise<number | undefined>;
  /** Pays and looks up, while the service's time passes, until nothing of the payout is open. */
  goOn(deps: PayDeps, line?: number): Promise<Payout>;
}

/** A run of these rows (lines from 2 on) that is being paid, on a ledger of its own, and a service. */
export async function openRig(testRedis: TestRedis, rows: readonly Partial<PayoutRow>[] = [{}]): Promise<PayRig> {
  const { redis, socket } = testRedis;
  const prefix = freshPrefix();
  const service = await startScriptedService();
  const time: RigTime = { passedMs: 0, atArming: new Map() };
  const dataDir = await mkdtemp(join(tmpdir(), 'payrun-pay-'));
  onTestFinished(async () => {
    await service.close();
    await rm(dataDir, { recursive: true, force: true });
  });
  const ledger = openLedger({ redis, arming: redis }, { prefix, dataDirId: DATA_DIR_ID });
  const claim = { knownInstance: '', newInstance: randomUUID(), service: 'test', safety: 'test', requireMatch: true };
  await ledger.state.open(claim);
  const dir = {
    dataDir,
    dataDirId: DATA_DIR_ID,
    armDeadlineMs: 0,
    compareDecisions: async () => {},
    arms: true,
    random: systemRandom,
    clock: systemClock,
    log: silentLog,
  };
  expect(await ensureSeason({ state: ledger.state, ...dir })).toEqual([]);
  const runId = await recordRun(ledger, rows);
  const place = (line = 2): { runId: string; line: number } => ({ runId, line });

  async function readPayout(line?: number): Promise<Payout> {
    const { payout } = await ledger.payouts.read(place(line));
    if (payout === undefined) throw new Error('no such payout');
    return payout;
  }

  const rig: PayRig = {
    service,
    ledger,
    redis,
    prefix,
    dataDir,
    runId,
    process: (options = {}) => openProcess({ redis, socket, prefix, dataDir, service, time }, options),
    pay: (deps, line, signal = new AbortController().signal) =>
      payPayout(deps, { ...place(line), mayArm: true, fileSha256: FILE_SHA256 }, signal),
    lookUp: (deps, line) => lookUpPayout(deps, place(line)),
    payout: readPayout,
    async run() {
      const run = await ledger.runs.read(runId);
      if (run === undefined) throw new Error('no such run');
      return run;
    },
    async moveRun(to) {
      await ledger.runs.move(runId, { to, actor: 'test', reason: 'a test' });
    },
    async intentLines() {
      const lines: IntentLine[] = [];
      for (const file of await intentFiles(dataDir)) {
        for await (const line of readIntentFile(file)) {
          if (line === 'damaged') throw new Error('an intent log is damaged');
          if (isIntent(line)) lines.push(line);
        }
      }
      return lines;
    },
    async passTime(ms) {
      service.passTime(ms);
      time.passedMs += ms;
    },
    waitMs: async () => Math.max(0, await redis.pttl(`${prefix}:wait`)),
    record: (line = 2) => readValues({ redis, prefix, runId, line }),
    async dueMs(line = 2) {
      const due = await dueOf({ redis, prefix, runId, line });
      return due === null ? undefined : due - Date.now();
    },
    async goOn(deps, line) {
      for (let step = 0; step < 60; step++) {
        const { state } = await readPayout(line);
        if (state === 'ready' || state === 'quoted') await rig.pay(deps, line);
        else if (state === 'armed' || state === 'unknown') await rig.lookUp(deps, line);
        else return await readPayout(line);
        await rig.passTime(5000);
      }
      throw new Error('the payout is open still');
    },
  };
  return rig;
}

async function recordRun({ runs, seals }: Ledger, changes: readonly Partial<PayoutRow>[]): Promise<string> {
  const rows = changes.map((change, index) => ({
    ...ROW,
    line: index + 2,
    reference: `INV-${index + 1}`,
    ...change,
  }));
  const { id } = await runs.claim({
    id: `r${randomUUID().slice(0, 8)}`,
    fileName: 'test.csv',
    fileSha256: FILE_SHA256,
    contentHash: FILE_SHA256,
    rows: rows.length,
    fileTotals: [],
    createdBy: 'test',
  });
  const records = rows.map((row) => ({
    line: row.line,
    state: 'ready' as const,
    fields: rowFields(row, seals.row({ runId: id, line: row.line }, row, false)),
    amount: row.amount,
    referenceHash: hashReference(row.reference),
  }));
  await runs.record(id, records, REMEMBER_MS);
  await runs.note(id, { lastLine: String(rows.length + 1) });
  await runs.move(id, { to: 'paying', actor: 'test', reason: 'submitted' });
  return id;
}

interface RigParts {
  readonly redis: Redis;
  readonly socket: string;
  readonly prefix: string;
  readonly dataDir: string;
  readonly service: ScriptedService;
  readonly time: RigTime;
}

/** Redis's clock cannot be set: what processes read of it is moved instead. */
interface RigTime {
  passedMs: number;
  /** By the payout, how much had passed when it was armed last. */
  readonly atArming: Map<string, number>;
}

async function openProcess(parts: RigParts, options: ProcessOptions): Promise<PayDeps> {
  const { redis, prefix, dataDir } = parts;
  const { time } = parts;
  const { clock = { ...systemClock, now: () => systemClock.now() + time.passedMs }, at = noCrash } = options;
  const log = silentLog;
  const arming = await connectRedis({ socket: options.armingSocket ?? parts.socket }, { name: 'test', kind: 'arming' });
  onTestFinished(() => arming.disconnect());
  const ledger = openLedger({ redis, arming }, { prefix, dataDirId: DATA_DIR_ID });
  const rules: PayRules = {
    armDeadlineMs: 2000,
    requestTimeoutMs: 5000,
    quoteGraceMs: GRACE_MS,
    notFoundGapMs: GAP_MS,
    trackEveryMs: 1000,
    breaker: null,
    payoutCategory: 'BANK',
    payinCategory: 'PRE_FUNDING',
    capabilities: new Set(CAPABILITIES),
    notFoundCodes: new Set([NOT_FOUND_CODE]),
    ...options.rules,
  };
  const brake = openSharedBrake(ledger.state, { clock, log });
  const settings = {
    url: options.url ?? parts.service.server.url,
    clientId: options.clientId ?? 'client-1',
    clientSecret: options.clientSecret ?? 'secret-1',
    tenantId: options.tenantId ?? 'tenant-1',
    environment: 'test' as const,
    audience: `urn:servicexcurrent-test:${options.tenantId ?? 'tenant-1'}`,
  };
  const keys = ledgerKeys(prefix);
  const service = openService({
    settings,
    addressName: 'service',
    tokenStore: options.hasToken
      ? heldToken(openSeal(settings, systemRandom))
      : openTokenStore(redis, { token: keys.token, lock: keys.tokenLock }),
    tokenMarginMs: 60_000,
    brake,
    requestTimeoutMs: rules.requestTimeoutMs,
    concurrency: 8,
    clock,
    random: systemRandom,
    log,
    userAgent: 'payrun/test',
  });
  const intents = options.intents ?? openIntentLog(dataDir, { clock, random: systemRandom });
  onTestFinished(async () => {
    await service.close();
    await intents.close();
  });
  return {
    payouts: {
      ...ledger.payouts,
      async read(place) {
        const { payout, ...reading } = await ledger.payouts.read(place);
        brake.learn(reading.waitMs);
        const moved = { ...reading, now: reading.now + time.passedMs };
        if (payout === undefined || payout.armedAt === null) return { ...moved, payout };
        const armedAt = payout.armedAt + (time.atArming.get(payoutId(payout)) ?? 0);
        // No test waits for the 24 hours after which nothing is tried any more.
        const history = payout.history.map((entry) => ({ ...entry, at: entry.at + time.passedMs }));
        return { ...moved, payout: { ...payout, armedAt, history } };
      },
      arm(asked) {
        time.atArming.set(payoutId(asked), time.passedMs);
        return ledger.payouts.arm(asked);
      },
    },
    runs: ledger.runs,
    references: ledger.references,
    state: ledger.state,
    seals: ledger.seals,
    blockList: openKnownBlockList(ledger),
    intents,
    service,
    canary: options.canary ?? { sings: async () => 'payment' },
    pace: openPace(ledger.state, clock, { what: 'pay', perSecond: undefined }),
    quoteLead: openQuoteLead(),
    trackPace: openPace(ledger.state, clock, { what: 'track', perSecond: undefined }),
    requireSafety: async () => {},
    ensureSeason: async () => ((await ledger.state.season()).open ? [] : ['closed']),
    clock,
    random: systemRandom,
    log,
    at,
    owner: systemRandom.bytes(5).toString('hex'),
    rules,
  };
}

function heldToken(seal: ReturnType<typeof openSeal>): TokenStore {
  return {
    read: async () => seal.seal({ token: 'held', freshUntil: Date.now() + 3_600_000, endsAt: Date.now() + 3_600_000 }),
    write: async () => {},
    lock: async () => true,
    unlock: async () => {},
  };
}
