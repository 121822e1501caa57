import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeAll, expect, inject, test } from 'vitest';
import { EVENTS } from '../../src/config/notify.ts';
import { readNotification } from '../../src/notify/notification.ts';
import { freshRows, movePayout, payingRun, sendTo, useArming } from '../ledger/test-ledger.ts';
import { useTestRedis } from '../support/redis.ts';
import { seeded } from '../support/seeded.ts';
import { type NotifyDesk, notifyDesk, SECRET, startReceiver, toldTo, webhook } from './notify-desk.ts';

const KILLS = 12;
const RUNS = 4;
const PAUSES = 20;

const server = await useTestRedis();
const arming = await useArming(server);
let desk: NotifyDesk;

beforeAll(async () => {
  desk = await notifyDesk({ redis: server.redis, arming });
});

/** A process that looks and delivers until it is killed; its time runs ahead, so that nobody waits for a delivery of a dead one. */
function startTelling(url: string, aheadMs: number) {
  const built = inject('built');
  const text = `
    import { openLedger } from ${JSON.stringify(join(built, 'src/ledger/ledger.js'))};
    import { connectRedis } from ${JSON.stringify(join(built, 'src/redis/connect.js'))};
    import { openNotifier } from ${JSON.stringify(join(built, 'src/notify/notifier.js'))};
    import { EVENTS } from ${JSON.stringify(join(built, 'src/config/notify.js'))};
    import { silentLog } from ${JSON.stringify(join(built, 'src/log.js'))};
    import { systemClock, systemRandom } from ${JSON.stringify(join(built, 'src/clock.js'))};
    const redis = await connectRedis({ socket: ${JSON.stringify(server.socket)} }, { name: 'teller', kind: 'commands' });
    const ledger = openLedger({ redis, arming: redis }, { prefix: ${JSON.stringify(desk.prefix)}, dataDirId: 'dir-b' });
    const hook = { kind: 'webhook', name: 'hook', url: ${JSON.stringify(url)}, secrets: [${JSON.stringify(SECRET)}], events: new Set(EVENTS) };
    const notifier = openNotifier({
      ledger, random: systemRandom, log: silentLog, certificates: undefined,
      settings: { endpoints: [hook], pendingMs: 1e9, approvalReminderMs: 1e9, diskFreeBytesMin: 0 },
      origin: { environment: 'test', sandbox: true },
      clock: { ...systemClock, now: () => systemClock.now() + ${aheadMs} },
      disks: { dataDirId: 'dir-b', folders: { data: '/', reports: '/' } },
    });
    const stopping = new AbortController().signal;
    console.log('telling');
    for (;;) {
      await ledger.state.endTurn('notify');
      const due = await notifier.look();
      await Promise.all(due.map((one) => notifier.deliver(one, stopping)));
    }`;
  return spawn(process.execPath, ['--input-type=module', '-e', text], {
    cwd: built,
    stdio: ['ignore', 'pipe', 'inherit'],
  });
}

test(`whoever tells is killed ${KILLS} times at any moment: everything comes at least once, and in order in each run`, async () => {
  const fraction = seeded(1);
  const receiver = await startReceiver(async (_, answering) => {
    await delay(fraction() * 8);
    answering.reply({ status: fraction() < 0.1 ? 500 : 200 });
  });
  const hook = webhook(receiver.url, { events: new Set(EVENTS) });
  await desk.look(desk.notifier([hook]));
  const runs: string[] = [];
  for (let n = 0; n < RUNS; n++) runs.push(await payingRun(desk.ledger, freshRows(2)));
  const acts = (async () => {
    for (let n = 0; n < PAUSES; n++) {
      for (const runId of runs) {
        await desk.ledger.runs.move(runId, { to: 'paused', actor: 'anna', reason: `pause ${n}` });
        await desk.ledger.runs.move(runId, { to: 'paying', actor: 'anna', reason: '' });
      }
      await delay(200);
    }
    for (const runId of runs) {
      await sendTo(desk.ledger, { runId, line: 2 }, 'failed');
      await sendTo(desk.ledger, { runId, line: 3 }, 'completed');
      await movePayout(desk.ledger, { runId, line: 3 }, { to: 'returned' });
    }
  })();
  for (let kills = 0; kills < KILLS; kills++) {
    const child = startTelling(receiver.url, kills * 61_000);
    await once(child.stdout, 'data');
    await delay(fraction() * 120);
    child.kill('SIGKILL');
    await once(child, 'exit');
  }
  await acts;
  desk.clock.pass((KILLS + 1) * 61_000);
  const last = desk.notifier([hook]);
  for (const runId of runs) {
    await expect
      .poll(async () => (desk.clock.pass(5000), await desk.work(last), await desk.waiting(runId)), { timeout: 60_000 })
      .toEqual([]);
  }
  const told = toldTo(receiver);
  const firsts = told.filter(({ id }, index) => told.findIndex((one) => one.id === id) === index);
  for (const runId of runs) {
    const pauses = firsts.filter((one) => one.runId === runId && one.event === 'paused').map(({ reason }) => reason);
    expect(pauses).toEqual(Array.from({ length: PAUSES }, (_, n) => `pause ${n}`));
    const others = firsts.filter((one) => one.runId === runId && one.event !== 'paused');
    const ofRun = others.filter(({ payout }) => payout === null).map(({ event }) => event);
    expect([ofRun[0], ofRun.slice(1).toSorted()]).toEqual(['accepted', ['failed', 'returned']]);
    for (const [line, events] of [
      [2, ['payout.failed']],
      [3, ['payout.paid', 'payout.returned']],
    ] as const) {
      expect(others.filter(({ payout }) => payout?.line === line).map(({ event }) => event)).toEqual(events);
    }
  }
  for (const { body, headers } of receiver.requests) expect(headers['payrun-event-id']).toBe(readNotification(body).id);
}, 180_000);
