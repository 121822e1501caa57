import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fastify } from 'fastify';
import { expect, onTestFinished, test, vi } from 'vitest';
import { limitConnections } from '../../src/web/connections.ts';
import { Problem } from '../../src/web/problem.ts';

vi.setConfig({ testTimeout: 180_000 });
const PATIENCE = { timeout: 60_000 };
const MOST = 3;

/** A server that takes so few connections; gives what asks it over a connection of its own, which stays open. */
async function openSmall() {
  const web = fastify({ forceCloseConnections: true });
  limitConnections(web, { isHttps: false, most: MOST });
  web.setErrorHandler(async (error, _request, reply) => {
    if (!(error instanceof Problem)) throw error;
    return await reply.status(error.status).send(error.message);
  });
  web.get('/healthz', async (_request, reply) => reply.status(204).send());
  web.get('/runs', async () => 'the runs');
  await web.listen({ host: '127.0.0.1', port: 0 });
  onTestFinished(() => web.close());
  const { port } = web.server.address() as AddressInfo;
  const connect = () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    onTestFinished(() => agent.destroy());
    return {
      async ask(path: string) {
        const [answer] = (await once(get({ host: '127.0.0.1', port, path, agent }), 'response')) as [IncomingMessage];
        answer.resume();
        await once(answer, 'end');
        return answer;
      },
      leave: () => agent.destroy(),
    };
  };
  const count = async () =>
    await new Promise<number>((resolve) => {
      web.server.getConnections((_error, open) => resolve(open));
    });
  return { connect, count };
}

test('a connection too many is told so and ends; those that are open stay, and one that ends makes room', async () => {
  const { connect, count } = await openSmall();
  const inside = Array.from({ length: MOST }, connect);
  for (const one of inside) expect((await one.ask('/runs')).statusCode).toBe(200);

  const refused = await connect().ask('/runs');
  expect(refused.statusCode).toBe(503);
  expect(refused.headers).toMatchObject({ connection: 'close', 'retry-after': expect.stringMatching(/^[0-9]+$/) });
  expect((await connect().ask('/healthz')).statusCode).toBe(204);
  for (const one of inside) expect((await one.ask('/runs')).statusCode).toBe(200);

  inside[0]?.leave();
  await expect.poll(count, PATIENCE).toBeLessThan(MOST);
  await expect.poll(async () => (await connect().ask('/runs')).statusCode, PATIENCE).toBe(200);
});
