import { createServer } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { postNotification } from '../../src/notify/webhook.ts';
import { makeAuthority, selfSigned } from '../service/certificates.ts';
import { type AnswerHandler, type AnsweringServer, startAnsweringServer } from '../support/answering-server.ts';
import { SECRET, startReceiver } from './notify-desk.ts';

const NOTE = { id: '7f0c', body: '{"id":"7f0c","äöü":"€"}' };
const yes: AnswerHandler = (_, answering) => answering.reply({});

const post = (url: string, other: Partial<Parameters<typeof postNotification>[2]> = {}) =>
  postNotification({ url, secrets: [SECRET] }, NOTE, { clock: systemClock, ...other });

describe('a webhook', () => {
  test.each([200, 201, 202, 204, 299])('that is answered with %i is delivered', async (status) => {
    const receiver = await startReceiver((_, answering) => answering.reply({ status }));
    expect(await post(`${receiver.url}/hook?who=payrun`)).toEqual({ delivered: true });
    expect(receiver.requests.map(({ path }) => path)).toEqual(['/hook?who=payrun']);
  });

  test.each([301, 302, 307, 308, 400, 401, 404, 410, 429, 500, 503])(
    'that is answered with %i is not, and goes nowhere else',
    async (status) => {
      const other = await startReceiver();
      const headers = { location: `${other.url}/`, 'retry-after': '0' };
      const receiver = await startReceiver((_, answering) => answering.reply({ status, headers, text: 'Jane Roe' }));
      expect(await post(receiver.url)).toEqual({ delivered: false, reason: `status ${status}` });
      expect([receiver.requests.length, other.requests.length]).toEqual([1, 0]);
    },
  );

  test('is one request on one connection, which is closed afterwards', async () => {
    const receiver = await startReceiver(yes);
    await post(receiver.url);
    await post(receiver.url);
    expect([receiver.requests.length, receiver.connections]).toEqual([2, 2]);
    expect(Buffer.from(receiver.requests[0]?.body ?? '', 'latin1').toString()).toBe(NOTE.body);
  });

  test.each<[what: string, handler: AnswerHandler]>([
    ['never answers', () => {}],
    ['sends half a head', (_, answering) => answering.write('HTTP/1.1 200 O')],
  ])('to a receiver that %s ends with its time', async (_what, handler) => {
    const receiver = await startReceiver(handler);
    expect(await post(receiver.url, { sendMsMax: 150 })).toEqual({ delivered: false, reason: 'timeout' });
  });

  test('to a host that takes the connection and says nothing ends with its time', async () => {
    const silent = createServer(() => {}).listen(0, '127.0.0.1');
    onTestFinished(() => void silent.close());
    await expect.poll(() => silent.listening).toBe(true);
    const { port } = silent.address() as { port: number };
    expect(await post(`https://127.0.0.1:${port}`, { sendMsMax: 150 })).toEqual({
      delivered: false,
      reason: 'timeout',
    });
  });

  test('whose answer is more than a few thousand bytes is cut off', async () => {
    const talker = await startReceiver((_, answering) =>
      answering.write(`HTTP/1.1 200 OK\r\ncontent-length: 999999\r\n\r\n${'x'.repeat(9999)}`),
    );
    // Without the cut it would take as long as it has, which is longer than this test.
    expect(await post(talker.url, { sendMsMax: 600_000 })).toEqual({ delivered: true });
  });

  test('whose answer is yes is delivered, although the answer never ends or is cut', async () => {
    const endless = await startReceiver((_, answering) =>
      answering.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nab'),
    );
    expect(await post(endless.url, { sendMsMax: 150 })).toEqual({ delivered: true });
    const cut = await startReceiver((_, answering) => {
      answering.write('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nab');
      answering.close();
    });
    expect(await post(cut.url)).toEqual({ delivered: true });
  });
});

async function startSecure(identity: { key: string; cert: string }): Promise<AnsweringServer> {
  const receiver = await startAnsweringServer(yes, identity);
  onTestFinished(() => receiver.close());
  return receiver;
}

describe('over TLS', () => {
  const authority = makeAuthority();

  test('a receiver whose certificate an own authority gave is trusted when the authority is named', async () => {
    const receiver = await startSecure(authority.issue('IP:127.0.0.1'));
    expect(await post(receiver.url, { certificates: [authority.cert] })).toEqual({ delivered: true });
    expect(receiver.requests).toHaveLength(1);
  });

  test.each([
    ['a stranger gave', () => selfSigned('127.0.0.1'), 'DEPTH_ZERO_SELF_SIGNED_CERT'],
    ['is of another host', () => authority.issue('DNS:elsewhere.example'), 'ERR_TLS_CERT_ALTNAME_INVALID'],
    ['has ended', () => authority.issue('IP:127.0.0.1', true), 'CERT_HAS_EXPIRED'],
  ])('a receiver whose certificate %s gets no byte of it', async (_what, identity, reason) => {
    const receiver = await startSecure(identity());
    expect(await post(receiver.url, { certificates: [authority.cert] })).toEqual({ delivered: false, reason });
    expect(receiver.bytes).toBe(0);
  });
});
