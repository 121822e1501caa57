import { createServer, type Server } from 'node:net';
import { parse } from 'csv-parse/sync';
import { describe, expect, onTestFinished, test } from 'vitest';
import { tellNames } from '../../jobs/names.ts';
import { systemClock } from '../../src/clock.ts';
import { blockBeneficiary } from '../../src/runs/block.ts';
import { type IdentityLister, refreshNames } from '../../src/runs/identities.ts';
import type { Answer } from '../../src/service/answer.ts';
import { recordRun, rowAt } from '../runs/recorded-run.ts';
import { useTestRedis } from '../support/redis.ts';
import { openWebRig } from './rig.ts';

const { beneficiaryIdentityId: BENEFICIARY } = rowAt(2);

const server = await useTestRedis();

function answerOf(status: number, json: unknown): Answer {
  const text = JSON.stringify(json);
  return { kind: 'answered', status, json, text, date: null, retryAfter: null, exchange: '' } as unknown as Answer;
}

/** A service that lists this beneficiary alone, under a name. */
function listing(nickName: string): IdentityLister {
  return {
    listIdentities: async (identityType) =>
      identityType === 'ORIGINATOR'
        ? answerOf(404, { errors: [{ code: 'USR_103' }] })
        : answerOf(200, { data: [{ identityId: BENEFICIARY.toUpperCase(), identityType, nickName }] }),
  };
}

const silent: IdentityLister = { listIdentities: () => new Promise(() => {}) };

describe('the names that the service lists', () => {
  test('stand beside the ids of payouts, on the block list and in each CSV, and are told by programs', async () => {
    const { app, person } = await openWebRig(server.url);
    const run = await recordRun(app.ledger, { id: '20260101-aaaaaa', lines: [2, 3] });
    await blockBeneficiary(app, BENEFICIARY, { actor: 'anna', reason: 'test' });
    const anna = await person('anna', 'checker');
    const before = await anna.get(`/runs/${run}/payouts`);
    expect(before.text).toContain(`<code>${BENEFICIARY}</code>`);
    await refreshNames({ ...app, service: listing('Hotel <b>Bahia</b>') });
    for (const page of [`/runs/${run}/payouts`, `/runs/${run}/payouts/2`, '/block-list']) {
      const { text } = await anna.get(page);
      expect(text).toContain('Hotel &lt;b>Bahia');
      expect(text).toContain(BENEFICIARY);
    }
    for (const table of [`/runs/${run}/payouts.csv`, '/block-list.csv', `/runs/${run}/report?format=csv`]) {
      const [head = [], first = []] = parse((await anna.get(table)).text);
      expect([table, head.at(-1), first.at(-1)]).toEqual([table, 'beneficiaryName', 'Hotel <b>Bahia</b>']);
    }
    expect((await anna.get(`/runs/${run}/report?format=json`)).text).toContain(
      '"beneficiaryName":"Hotel <b>Bahia</b>"',
    );
  });

  test('are run by no spreadsheet', async () => {
    const { app, person } = await openWebRig(server.url);
    const run = await recordRun(app.ledger, { id: '20260101-bbbbbb', lines: [2] });
    await refreshNames({ ...app, service: listing('=HYPERLINK("http://x")') });
    const { text } = await (await person('anna', 'viewer')).get(`/runs/${run}/payouts.csv`);
    expect(text).toContain(`"'=HYPERLINK(""http://x"")"`);
  });

  test('stay as they were, with their age, while the service says nothing, and change when it lists another one', async () => {
    const { app } = await openWebRig(server.url);
    const first = app.clock.now();
    expect(await refreshNames({ ...app, service: listing('Ana') })).toBe(1);
    const clock = { ...systemClock, sleep: async () => {} };
    expect(await refreshNames({ ...app, clock, service: silent })).toBe(0);
    const kept = (await app.ledger.names.read([BENEFICIARY, 'unknown'])).get(BENEFICIARY);
    expect(kept?.name).toBe('Ana');
    expect(kept?.listedAt).toBeGreaterThanOrEqual(first);
    await refreshNames({ ...app, service: listing('Ana Ortiz') });
    expect((await app.ledger.names.read([BENEFICIARY])).get(BENEFICIARY)?.name).toBe('Ana Ortiz');
  });

  test('are shown to whoever approves as the service listed them, and not as somebody changed them in Redis', async () => {
    const { app, person } = await openWebRig(server.url);
    const run = await recordRun(app.ledger, { id: '20260101-dddddd', lines: [2] });
    await refreshNames({ ...app, service: listing('Mallory') });
    const anna = await person('anna', 'checker');
    const page = async () => (await anna.get(`/runs/${run}/approve/beneficiaries.csv`)).text;
    expect(await page()).toContain('Mallory');
    const key = `${app.config.prefix}:names`;
    const listed = (await server.redis.hget(key, BENEFICIARY)) ?? '';
    for (const changed of [listed.replace('Mallory', 'Ana'), `${app.clock.now()} Ana`]) {
      await server.redis.hset(key, BENEFICIARY, changed);
      expect(await page()).toContain(BENEFICIARY);
      expect(await page()).not.toMatch(/Ana|Mallory/);
    }
  });

  test('are asked for by one worker in ten minutes, and a fault of the service stops none', async () => {
    const { app } = await openWebRig(server.url);
    let asked = 0;
    const service: IdentityLister = {
      async listIdentities() {
        asked++;
        throw new Error('broken');
      },
    };
    const deps = { app, pay: { service } } as unknown as Parameters<typeof tellNames>[0];
    await Promise.all([tellNames(deps), tellNames(deps)]);
    await tellNames(deps);
    expect(asked).toBe(2);
  });

  test('keep no page waiting: an approval is shown at once although the service says nothing', async () => {
    const mute = await openMute();
    const { app, person } = await openWebRig(server.url, {
      env: {
        PAYRUN_SERVICE_URL: `http://127.0.0.1:${mute}`,
        PAYRUN_CLIENT_ID: 'id',
        PAYRUN_CLIENT_SECRET: 'secret',
        PAYRUN_TENANT_ID: 'tenant',
        PAYRUN_ENVIRONMENT: 'test',
      },
    });
    const run = await recordRun(app.ledger, { id: '20260101-cccccc', lines: [2] });
    await app.ledger.names.note(new Map([[BENEFICIARY, 'Ana']]), 1);
    const anna = await person('anna', 'checker');
    const started = performance.now();
    for (const page of [`/runs/${run}`, `/runs/${run}/payouts`, `/runs/${run}/approve/beneficiaries.csv`]) {
      expect((await anna.get(page)).status).toBe(200);
    }
    expect(performance.now() - started).toBeLessThan(8000);
    expect((await anna.get(`/runs/${run}/approve/beneficiaries.csv`)).text).toContain('Ana');
  });
});

/** A server that takes connections and never says anything. */
async function openMute(): Promise<number> {
  const mute: Server = createServer(() => {});
  await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void mute.close());
  const address = mute.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}
