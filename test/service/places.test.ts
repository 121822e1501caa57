import { afterEach, beforeEach, expect, test, vi } from 'vitest';
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

test('no quote is asked for while as many requests as allowed are under way, and all places are used while there is work', async () => {
  const asked = Array.from({ length: 20 }, () => service.quote('{}'));
  for (let left = asked.length; left > 0; left--) {
    await vi.waitUntil(() => underWay.length === Math.min(PLACES, left));
    answerOldest();
  }
  const answers = await Promise.all(asked);
  expect(answers.map(({ kind }) => kind)).toEqual(asked.map(() => 'answered'));
  expect(mostUnderWay).toBe(PLACES);
});

test('a payment waits for no quote, and quotes wait until it is answered', async () => {
  let answered = 0;
  const quotes = Array.from({ length: PLACES + 2 }, async () => {
    await service.quote('{}');
    answered++;
  });
  await vi.waitUntil(() => underWay.length === PLACES);
  const payments = [1, 2].map(() => service.createPayment('{}', { sendBefore: soon() }));
  await vi.waitUntil(() => underWay.length === PLACES + 2);
  expect(underWay.slice(PLACES).map(({ path }) => path)).toEqual(['/v2/payments', '/v2/payments']);
  answerOldest();
  answerOldest();
  // Requests need not arrive in the order in which they were asked for.
  await vi.waitUntil(() => answered === 2);
  expect(server.to('POST', '/v2/quotes/quote-collection')).toHaveLength(PLACES);
  answerOldest();
  await vi.waitUntil(() => server.to('POST', '/v2/quotes/quote-collection').length === PLACES + 1);
  server.handle((_request, answering) => answering.reply({ status: 201, json: {} }));
  while (underWay.length > 0) answerOldest();
  await Promise.all([...quotes, ...payments]);
});
