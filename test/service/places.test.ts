import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { Service } from '../../src/service/client.ts';
import { type Answering, type AnsweringServer, startAnsweringServer } from '../support/answering-server.ts';
import { givingTokens, openTestService, soon } from './test-service.ts';

const PLACES = 4;

let server: AnsweringServer;
let service: Service;
/** Requests that the service has and did not answer. */
let underWay: { path: string; answering: Answering }[];
let mostUnderWay: number;

beforeEach(async () => {
  underWay = [];
  mostUnderWay = 0;
  server = await startAnsweringServer(
    givingTokens(({ path }, answering) => {
      underWay.push({ path, answering });
      mostUnderWay = Math.max(mostUnderWay, underWay.length);
    }),
  );
  service = openTestService(server.url, { concurrency: PLACES });
  await service.ready();
});

afterEach(async () => {
  while (underWay.length > 0) answerOldest();
  await service.close();
  await server.close();
});

function answerOldest(): void {
  underWay.shift()?.answering.reply({ status: 201, json: {} });
}

const pathsUnderWay = (): string[] => underWay.map(({ path }) => path);

test('no more requests are under way than allowed, and all places are used while there is work', async () => {
  const asked = Array.from({ length: 20 }, (_, index) =>
    index % 2 === 0 ? service.quote('{}') : service.createPayment('{}', { sendBefore: soon() }),
  );
  for (let left = asked.length; left > 0; left--) {
    await vi.waitUntil(() => underWay.length === Math.min(PLACES, left));
    answerOldest();
  }
  const answers = await Promise.all(asked);
  expect(answers.map(({ kind }) => kind)).toEqual(asked.map(() => 'answered'));
  expect(mostUnderWay).toBe(PLACES);
});

test('a payment comes before the quotes that wait', async () => {
  const quotes = Array.from({ length: PLACES + 5 }, () => service.quote('{}'));
  await vi.waitUntil(() => underWay.length === PLACES);
  const payment = service.createPayment('{}', { sendBefore: soon() });
  answerOldest();
  await vi.waitUntil(() => underWay.length === PLACES);
  expect(pathsUnderWay().at(-1)).toBe('/v2/payments');
  while (underWay.length > 0) {
    answerOldest();
    await vi.waitUntil(() => underWay.length > 0 || server.to('POST', '/v2/quotes/quote-collection').length === 9);
  }
  await Promise.all([payment, ...quotes]);
});

test('a payment that finds no place before its deadline is never sent, and takes none afterwards', async () => {
  const quotes = Array.from({ length: PLACES }, () => service.quote('{}'));
  await vi.waitUntil(() => underWay.length === PLACES);
  const answer = await service.createPayment('{}', { sendBefore: systemClock.monotonic() + 50 });
  expect(answer).toEqual({ kind: 'not-sent', reason: 'deadline', certificate: false });
  while (underWay.length > 0) answerOldest();
  await Promise.all(quotes);
  expect(server.to('POST', '/v2/payments')).toEqual([]);
  const again = Array.from({ length: PLACES }, () => service.quote('{}'));
  await vi.waitUntil(() => underWay.length === PLACES);
  while (underWay.length > 0) answerOldest();
  await Promise.all(again);
});
