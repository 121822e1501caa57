import { type AddressInfo, createServer } from 'node:net';
import type { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { MailEndpoint } from '../../src/config/notify.ts';
import { EVENTS } from '../../src/config/notify.ts';
import { type Log, silentLog } from '../../src/log.ts';
import { mailNotification } from '../../src/notify/mail.ts';
import { mailOf } from '../../src/notify/mail-text.ts';
import { type Notification, writeNotification } from '../../src/notify/notification.ts';
import { finishRun } from '../../src/runs/after/finish.ts';
import { connectArming, freshRows, payingRun, sendTo } from '../ledger/test-ledger.ts';
import { makeAuthority } from '../service/certificates.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { type NotifyDesk, notifyDesk } from './notify-desk.ts';
import { startPost } from './post.ts';

/** Loopback under a name that does not look like it: for it the rules of other hosts hold. */
const NOT_LOCAL = '::ffff:127.0.0.1';

const endpoint = (port: number, other: Partial<MailEndpoint> = {}): MailEndpoint => ({
  kind: 'mail',
  name: 'mail',
  host: '127.0.0.1',
  port,
  secure: false,
  login: null,
  from: 'payrun@example.com',
  to: ['ops@example.com', 'cfo@example.com'],
  events: new Set(EVENTS),
  ...other,
});

const ORIGIN = { environment: 'test', sandbox: false, instance: 'i1', auditHead: null } as const;
const HALTED = writeNotification(
  { event: 'halted', at: 1_769_900_000_000, reason: 'wrong\r\nBcc: x@example.com' },
  ORIGIN,
);

const send = (to: MailEndpoint, log: Log = silentLog, certificates?: readonly string[]) =>
  mailNotification(to, HALTED, { clock: systemClock, log, certificates });

const headerOf = (text: string, name: string) => new RegExp(`^${name}: (.*)$`, 'im').exec(text)?.[1]?.trim();

describe('a mail', () => {
  test('goes to all addresses, with an id and a date that are the same at each try', async () => {
    const post = await startPost();
    expect(await send(endpoint(post.port))).toEqual({ delivered: true });
    expect(await send(endpoint(post.port))).toEqual({ delivered: true });
    const [first, second] = post.mails;
    expect(first).toMatchObject({ from: 'payrun@example.com', to: ['ops@example.com', 'cfo@example.com'] });
    const { id } = JSON.parse(HALTED) as { id: string };
    expect(headerOf(first?.text ?? '', 'Message-ID')).toBe(`<${id}@example.com>`);
    expect(headerOf(second?.text ?? '', 'Message-ID')).toBe(`<${id}@example.com>`);
    expect(new Date(headerOf(second?.text ?? '', 'Date') ?? '').getTime()).toBe(1_769_900_000_000);
    expect(headerOf(first?.text ?? '', 'Subject')).toBe('[payrun test] Everything is halted');
    expect(headerOf(first?.text ?? '', 'Bcc')).toBeUndefined();
  });

  test('with a login shows who sends it, and fails with the status alone when the login is wrong', async () => {
    const post = await startPost();
    const login = { userName: 'payrun', password: 'right' };
    expect(await send(endpoint(post.port, { login }))).toEqual({ delivered: true });
    expect(post.mails[0]?.user).toBe('payrun');
    const wrong = await send(endpoint(post.port, { login: { ...login, password: 'canary-password' } }));
    expect(wrong).toEqual({ delivered: false, reason: 'status 535' });
  });

  test('to a good and a bad address is delivered, and a line of the log counts the bad ones', async () => {
    const post = await startPost({
      onRcptTo: ({ address }, _session, done) => done(address.startsWith('cfo') ? new Error('no such user') : null),
    });
    const said: unknown[] = [];
    const log: Log = { ...silentLog, warn: (message, fields) => said.push([message, fields]) };
    expect(await send(endpoint(post.port), log)).toEqual({ delivered: true });
    expect(said).toEqual([['addresses were refused', { to: 'mail', count: 1 }]]);
    expect(await send(endpoint(post.port, { to: ['cfo@example.com'] }), log)).toEqual({
      delivered: false,
      reason: 'status 550',
    });
  });

  test('to a server that does not take it is not delivered', async () => {
    const busy = await startPost({
      onData: (stream, _session, done) => {
        stream.resume();
        stream.on('end', () => done(Object.assign(new Error('Jane Roe is away'), { responseCode: 452 })));
      },
    });
    expect(await send(endpoint(busy.port))).toEqual({ delivered: false, reason: 'status 452' });
    const away = await startPost();
    await away.close();
    expect(await send(endpoint(away.port))).toMatchObject({ delivered: false });
  });

  test('to a server that says nothing ends with its time', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    onTestFinished(() => void silent.close());
    await expect.poll(() => silent.listening).toBe(true);
    const impatient = { ...systemClock, sleep: (_ms: number, signal?: AbortSignal) => systemClock.sleep(150, signal) };
    const to = endpoint((silent.address() as AddressInfo).port);
    const sent = await mailNotification(to, HALTED, { clock: impatient, log: silentLog });
    expect(sent).toEqual({ delivered: false, reason: 'timeout' });
  });
});

describe('a server that is not on this host', () => {
  const authority = makeAuthority();
  const identity = authority.issue('IP:::ffff:127.0.0.1');
  const login = { userName: 'payrun', password: 'right' };

  test('gets nothing without TLS: neither the mail nor the login', async () => {
    let logins = 0;
    const post = await startPost({
      onAuth: (_auth, _session, done) => {
        logins += 1;
        done(null, { user: 'x' });
      },
    });
    expect(await send(endpoint(post.port, { host: NOT_LOCAL, login }))).toMatchObject({ delivered: false });
    expect([logins, post.mails.length]).toEqual([0, 0]);
  });

  test.each([false, true])(
    'gets it over TLS that verifies (from the first byte: %s), and nothing over other TLS',
    async (secure) => {
      const post = await startPost({ ...identity, secure });
      const to = endpoint(post.port, { host: NOT_LOCAL, secure, login });
      expect(await send(to)).toMatchObject({ delivered: false });
      expect(post.mails).toEqual([]);
      expect(await send(to, silentLog, [authority.cert])).toEqual({ delivered: true });
      expect(post.mails).toMatchObject([{ secure: true, user: 'payrun' }]);
    },
  );
});

describe('what people read', () => {
  const run = {
    state: 'finished',
    file: { name: 'a\u202Eb.csv', sha256: 'ab', rows: 3 },
    outcomes: { paid: 2, failed: 1 },
    totals: [{ currency: 'USD', file: '12.50', paid: '10.00', failed: '2.50', held: '0.00' }],
  } as unknown as NonNullable<Notification['run']>;
  const base: Notification = {
    id: 'abc',
    event: 'finished',
    at: '2026-01-31T00:00:00.000Z',
    environment: 'prod',
    sandbox: false,
    runId: 'r1',
    run,
    reason: null,
    payouts: { count: 1, new: 1, olderThanDays: 5 },
    payout: { id: 'r1-7', line: 7 },
    waitingSince: null,
    refused: null,
    disks: null,
    auditHead: `12:${'a'.repeat(64)}`,
  };

  test('says what the run has become, in one subject and a few lines without anything unseen', () => {
    const { subject, text } = mailOf(base);
    expect(subject).toBe('[payrun prod] Run r1 is finished');
    expect(text).toContain('outcomes  2 paid, 1 failed\n');
    expect(text).toContain('total     USD 12.50: 10.00 paid, 2.50 failed\n');
    expect(text).toContain('file      a\\u{202e}b.csv, 3 rows\n');
    expect(text).toContain(`audit log 12:${'a'.repeat(64)}\n`);
    expect(mailOf({ ...base, auditHead: null }).text).not.toContain('audit log');
  });

  test.each(EVENTS)('of "%s" has a subject of one line and says what to do', (event) => {
    const { subject, text } = mailOf({ ...base, event, reason: 'first\nsecond' });
    expect(subject).toMatch(/^\[payrun prod\] [^\n]{10,90}$/);
    expect(subject).not.toMatch(/null|undefined/);
    expect(text).not.toMatch(/null|undefined|NaN/);
    expect(text).toContain('first\\u{a}second');
    expect(text.trimEnd().split('\n').at(-1)).toBe('2026-01-31T00:00:00.000Z · abc');
  });
});

describe('a run is told by mail', () => {
  let server: TestRedis;
  let arming: Redis;
  let desk: NotifyDesk;
  beforeAll(async () => {
    server = await startTestRedis();
    arming = await connectArming(server);
  });
  afterAll(async () => {
    arming.disconnect();
    await server.stop();
  });
  beforeEach(async () => {
    desk = await notifyDesk({ redis: server.redis, arming });
  });

  test('in order, also when the server was away for an hour', async () => {
    const away = await startPost();
    await away.close();
    const notifier = desk.notifier([endpoint(away.port)]);
    await desk.look(notifier);
    const runId = await payingRun(desk.ledger, freshRows(2));
    await sendTo(desk.ledger, { runId, line: 2 }, 'completed');
    await sendTo(desk.ledger, { runId, line: 3 }, 'failed');
    await finishRun(desk.ledger, runId);
    for (let minutes = 0; minutes < 60; minutes += 4) {
      await desk.work(notifier);
      desk.clock.pass(4 * 60_000);
    }
    const post = await startPost({}, away.port);
    desk.clock.pass(3_600_000);
    await desk.work(notifier);
    expect(post.mails.map(({ text }) => headerOf(text, 'Subject'))).toEqual([
      `[payrun sandbox] Run ${runId} was accepted`,
      `[payrun sandbox] Payout ${runId}-2 was paid`,
      `[payrun sandbox] Payout ${runId}-3 failed`,
      `[payrun sandbox] Run ${runId} is finished`,
      `[payrun sandbox] 1 payout failed in run ${runId}`,
      `[payrun sandbox] All payments of run ${runId} are final`,
    ]);
  });
});
