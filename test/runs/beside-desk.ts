import { afterEach, beforeEach } from 'vitest';
import type { App } from '../../src/app.ts';
import { hashReference } from '../../src/intake/row/reference-hash.ts';
import type { PayDeps } from '../../src/pay/deps.ts';
import { lookUpPayout } from '../../src/pay/look-up/look-up.ts';
import { trackPayout } from '../../src/pay/track/track.ts';
import type { Payout } from '../../src/payout.ts';
import { decidePayout } from '../../src/runs/decide/decide.ts';
import { givingTokens, testSettings } from '../service/test-service.ts';
import { type AnsweringServer, type ReplyOptions, startAnsweringServer } from '../support/answering-server.ts';
import { type TestRedis, useTestRedis } from '../support/redis.ts';
import { openTestApp } from './opened-app.ts';
import { armPayout, movePayout, payoutAt, recordRun, rowAt } from './recorded-run.ts';

export const OWN = '0b9a4c1e-77d2-4f35-8e60-000000000001';
export const BESIDE = '0b9a4c1e-77d2-4f35-8e60-000000000003';
const NOT_FOUND = { status: 404, json: { errors: [{ code: 'USR_002', title: 'no such payment' }] } };
export const DOWN = { status: 503, json: { errors: [{ code: 'SYS_001', title: 'down' }] } };
export const HIDES_REFERENCE = { originator: {} };
const NOW = AbortSignal.timeout(2 ** 31 - 1);

/** An unknown payout of the quote OWN, at a service that knows no payment, until `answer` says otherwise. */
export interface BesideDesk {
  readonly server: TestRedis;
  readonly app: App;
  readonly deps: PayDeps;
  readonly runId: string;
  readonly place: { readonly runId: string; readonly line: number };
  payout(): Promise<Payout>;
  answer(replies: Readonly<Record<string, ReplyOptions>>): void;
  /** As a comparison of logs leaves it: held for a breach, with another quote armed beside its own. */
  heldBeside(): Promise<void>;
  /** The log of a host that comes back late: it armed the payout for BESIDE too, and so it was answered. */
  hostComesBack(said: { credentials: string; yes: boolean }): Promise<void>;
  /** Compares lines of intent logs. */
  logs(lines: readonly object[], dataDirId?: string): Promise<void>;
  /** Compares the line of an intent log that says by which payment people settled the payout. */
  logSays(paymentId: string): Promise<void>;
  /** What two people are shown who settle it, each of whom read what speaks against it. */
  settle(decision: 'paid' | 'not-paid', paymentId: string, pay?: PayDeps): Promise<string[]>;
  /** So many days later, under the same credentials, while the service shows what it must know. */
  onDay(days: number, more?: Partial<PayDeps>): Promise<PayDeps>;
  track(pay?: PayDeps): Promise<void>;
  lookUp(pay?: PayDeps): Promise<void>;
}

export function payment(paymentId: string, paymentState: string, more: object = {}): ReplyOptions {
  const { reference, beneficiaryIdentityId } = rowAt(2);
  const own = { originator: { internalId: reference }, destination: { beneficiaryIdentityId } };
  return { json: { paymentId, paymentState, ...own, ...more } };
}

export async function useBesideDesk(): Promise<BesideDesk> {
  const server = await useTestRedis();
  let app: App;
  let service: AnsweringServer;
  let deps: PayDeps;
  let runId: string;
  beforeEach(async () => {
    app = await openTestApp(server.url);
    service = await startAnsweringServer(givingTokens((_request, answering) => answering.reply(NOT_FOUND)));
    deps = await app.openPay({ settings: testSettings(service.url), isSandbox: true });
    runId = await recordRun(app.ledger, { lines: [2] });
    await armPayout(app.ledger, place(), OWN);
    await movePayout(app.ledger, place(), 'unknown');
  });
  afterEach(async () => {
    await app.close();
    await service.close();
  });

  const place = (): BesideDesk['place'] => ({ runId, line: 2 });
  const payout = async (): Promise<Payout> => await payoutAt(app.ledger, place());
  const logs = async (lines: readonly object[], dataDirId = ''): Promise<void> => {
    const { server: now } = await app.ledger.state.season();
    await app.ledger.state.compare({ dataDirId, server: now, last: false, json: JSON.stringify(lines), peers: [] });
  };
  const referenceHash = hashReference(rowAt(2).reference);
  return {
    server,
    get app() {
      return app;
    },
    get deps() {
      return deps;
    },
    get runId() {
      return runId;
    },
    get place() {
      return place();
    },
    payout,
    answer(replies) {
      service.handle(
        givingTokens((request, answering) => {
          answering.reply(replies[request.path.replace('/v2/payments/', '')] ?? NOT_FOUND);
        }),
      );
    },
    async heldBeside() {
      const breach = { reasonCode: 'E_BREACH', reason: `the quote ${BESIDE} was armed too` };
      const held = { to: 'held', breach: true, actor: 'season', reason: 'breach', values: breach } as const;
      await app.ledger.payouts.move({ ...place(), ...held });
      await server.redis.rpush(`${app.config.prefix}:run:${runId}:beside`, `2 ${BESIDE}`);
      await server.redis.hset(`${app.config.prefix}:quotes:${BESIDE.slice(0, 4)}`, BESIDE, `${runId}-2`);
    },
    async hostComesBack({ credentials, yes }) {
      const sent = { q: BESIDE, x: '1', k: '1', c: 1, o: 'late', t: String(Date.now() - 3_600_000), d: '20261128' };
      const file = { r: runId, l: '2', s: `sha-${runId}`, n: `content-${runId}`, h: referenceHash };
      const said = yes ? [{ y: BESIDE, p: BESIDE, h: referenceHash }] : [];
      await logs([{ ...file, ...sent, f: credentials }, ...said]);
    },
    logs,
    async logSays(paymentId) {
      await logs([{ y: OWN, p: paymentId, n: true, h: referenceHash }]);
    },
    async settle(decision, paymentId, pay = deps) {
      const said: string[] = [];
      for (const by of ['anna', 'bob']) {
        const asked = { decision, paymentId, by, reason: 'the console', caveats: 'read' } as const;
        const all = { ...app, openPay: async () => pay, wake: async () => {}, ensureSeason: async () => [] };
        const told = await decidePayout(all, await payout(), asked).catch((error: unknown) => ({
          result: String(error),
          evidence: [],
        }));
        said.push([told.result, ...told.evidence].join('; '));
      }
      return said;
    },
    async onDay(days, more = {}) {
      const read: PayDeps['payouts']['read'] = async (at) => {
        const reading = await deps.payouts.read(at);
        return { ...reading, now: reading.now + days * 86_400_000 };
      };
      return {
        ...deps,
        payouts: { ...deps.payouts, read },
        canary: { sings: async () => 'payment' },
        service: { ...deps.service, fingerprint: (await payout()).credentials ?? '' },
        ...more,
      };
    },
    async track(pay = deps) {
      await trackPayout(pay, place(), NOW);
    },
    async lookUp(pay = deps) {
      await lookUpPayout(pay, place());
    },
  };
}
