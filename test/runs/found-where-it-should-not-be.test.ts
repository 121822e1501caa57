import { expect, test } from 'vitest';
import { hashReference } from '../../src/intake/row/reference-hash.ts';
import { intentFiles, readIntentFile } from '../../src/ledger/intents/intent-log.ts';
import { lookUpDeadQuotes } from '../../src/runs/after/finish.ts';
import { decidePayout } from '../../src/runs/decide/decide.ts';
import { readRun } from '../../src/runs/read-run.ts';
import { copyLedger } from '../ledger/test-ledger.ts';
import { BESIDE, OWN, payment, useBesideDesk } from './beside-desk.ts';
import { rowAt } from './recorded-run.ts';

const desk = await useBesideDesk();

/** Each way by which somebody learns that another quote than the present one is paid. */
const LOOKS: Readonly<Record<string, () => Promise<void>>> = {
  async 'a look-up of a held payout'() {
    await desk.lookUp(await desk.onDay(0.5));
  },
  async 'a look-up for people'() {
    const pay = await desk.onDay(2);
    const all = { ...desk.app, openPay: async () => pay, wake: async () => {}, ensureSeason: async () => [] };
    const asked = { decision: 'not-paid', paymentId: '', by: 'anna', reason: 'old' } as const;
    await expect(decidePayout(all, await desk.payout(), asked)).rejects.toThrow('that is written down now');
  },
  async 'the look at the end of the run'() {
    const pay = { ...(await desk.onDay(2)), ledger: desk.app.ledger };
    await lookUpDeadQuotes(pay, await readRun(desk.app, desk.runId));
  },
};

test.each(Object.keys(LOOKS))(
  'a payment beside that %s found holds its payout also where a restore forgot it',
  async (look) => {
    await desk.server.redis.rpush(`${desk.app.config.prefix}:run:${desk.runId}:beside`, `2 ${BESIDE}`);
    await desk.server.redis.hset(`${desk.app.config.prefix}:quotes:${BESIDE.slice(0, 4)}`, BESIDE, `${desk.runId}-2`);
    const putBack = await copyLedger(desk.server.redis, desk.app.config.prefix);
    const values = { reasonCode: 'E_TRIED', reason: 'it was tried for 24 hours' };
    await desk.app.ledger.payouts.move({ ...desk.place, to: 'held', actor: 'w', reason: 'E_TRIED', values });
    desk.answer({ [BESIDE]: payment(BESIDE, 'COMPLETED') });
    await LOOKS[look]?.();
    expect(await desk.payout()).toMatchObject({ state: 'held', reasonCode: 'E_BREACH' });
    const lines: unknown[] = [];
    for (const file of await intentFiles(desk.app.config.dataDir)) {
      for await (const line of readIntentFile(file)) lines.push(line);
    }
    const referenceHash = hashReference(rowAt(2).reference);
    expect(lines).toMatchObject([{ quoteId: BESIDE, paymentId: BESIDE, referenceHash }]);
    await putBack();
    expect(await desk.payout()).toMatchObject({ state: 'unknown', quoteId: OWN });
    await desk.logs([{ y: BESIDE, p: BESIDE, h: referenceHash }]);
    expect(await desk.payout()).toMatchObject({ state: 'held', reasonCode: 'E_BREACH' });
  },
);
