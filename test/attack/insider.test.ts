import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readEntry } from '../../src/audit/entry.ts';
import { systemClock } from '../../src/clock.ts';
import { createKey, readKey } from '../../src/people/keys.ts';
import { signIn } from '../../src/people/sign-in.ts';
import { disableUser, resetUser } from '../../src/people/users.ts';
import { type ApproveDeps, approveRun } from '../../src/runs/decide/approve.ts';
import { addWithPassword, IP, peopleRig } from '../people/people-rig.ts';
import { beginRun } from '../runs/recorded-run.ts';
import { useTestRedis } from '../support/redis.ts';
import { openWebRig } from '../web/rig.ts';

/*
 * Attacks of people of the company, or of who has taken over the account of one of them. Each test says what has to hold.
 */

const server = await useTestRedis();

describe('the word of an admin who was found out and disabled', () => {
  test('does not make another admin the second one of a reset: whoever was shown the secret signs in', async () => {
    const rig = await peopleRig(server.redis);
    await addWithPassword(rig, 'ada', 'admin');
    await addWithPassword(rig, 'mallory', 'admin');
    await addWithPassword(rig, 'bob', 'checker');
    const proposed = await resetUser(rig, { name: 'bob', actor: 'mallory' });
    const secret = 'secret' in proposed ? proposed.secret : '';
    await disableUser(rig, { name: 'mallory', actor: 'ada' });
    // A day later Bob has forgotten his password, and Ada begins to reset it: she thinks that she is the first.
    rig.pass(86_400_000);
    const answer = await resetUser(rig, { name: 'bob', actor: 'ada' });
    const entered = await signIn(rig, { name: 'bob', password: secret, ip: IP });
    expect([answer.kind, entered.kind]).toEqual(['proposed', 'refused']);
  });

  test('does not make a key that only they know', async () => {
    const rig = await peopleRig(server.redis);
    await addWithPassword(rig, 'ada', 'admin');
    await addWithPassword(rig, 'mallory', 'admin');
    const proposed = await createKey(rig, { name: 'accounting', role: 'maker', actor: 'mallory' });
    await disableUser(rig, { name: 'mallory', actor: 'ada' });
    const answer = await createKey(rig, { name: 'accounting', role: 'maker', actor: 'ada' });
    expect([answer.kind, await readKey(rig, proposed.bearer ?? '')]).toEqual(['proposed', undefined]);
  });

  test('a key whose owner was disabled opens nothing', async () => {
    const rig = await peopleRig(server.redis);
    await addWithPassword(rig, 'ada', 'admin');
    await addWithPassword(rig, 'mallory', 'admin');
    const proposed = await createKey(rig, { name: 'accounting', role: 'maker', actor: 'mallory' });
    await createKey(rig, { name: 'accounting', role: 'maker', actor: 'ada' });
    expect(await readKey(rig, proposed.bearer ?? '')).toMatchObject({ createdBy: 'mallory' });
    await disableUser(rig, { name: 'mallory', actor: 'ada' });
    expect(await readKey(rig, proposed.bearer ?? '')).toBeUndefined();
  });

  test('is no approval any more', async () => {
    const rig = await peopleRig(server.redis);
    await addWithPassword(rig, 'ada', 'admin');
    await addWithPassword(rig, 'mallory', 'checker');
    await addWithPassword(rig, 'bob', 'checker');
    const { ledger } = rig;
    await ledger.state.enterDir('dir-a');
    const { server: name } = await ledger.state.season();
    await ledger.state.compare({ dataDirId: 'dir-a', server: name, last: true, json: '[]', peers: ['dir-a'] });
    const runId = await beginRun(ledger, { lines: [2] });
    await ledger.runs.move(runId, { from: 'recording', to: 'awaiting-approval', actor: 'test', reason: 'submitted' });
    const two = { name: 'two', tiers: new Map([['USD', [{ from: 0n, approvals: 2 }]]]), holdsMs: 3_600_000 };
    const deps: ApproveDeps = {
      ledger,
      clock: systemClock,
      config: { approval: two, limits: null },
      wake: async () => {},
    };
    await approveRun(deps, runId, { actor: 'mallory', sha256: `sha-${runId}` });
    await disableUser(rig, { name: 'mallory', actor: 'ada' });
    const { missing } = await approveRun(deps, runId, { actor: 'bob', sha256: `sha-${runId}` });
    expect(missing).toBe(1);
  });
});

/** A connection of its own, kept open until the test's end. */
function openConnection(): Agent {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  return agent;
}

describe('a viewer', () => {
  test('does not fill the audit log with reports of periods that they name', async () => {
    const { app, person } = await openWebRig(server.url);
    const vera = await person('vera', 'viewer');
    for (let at = 0; at < 60; at++) {
      const from = new Date(Date.UTC(2000, 0, 1 + at)).toISOString().slice(0, 10);
      await vera.get(`/period/download?from=${from}&to=2000-12-31`);
    }
    let taken = 0;
    for await (const line of app.ledger.audit.lines()) {
      if (readEntry(line)?.action === 'report.downloaded') taken++;
    }
    expect(taken).toBe(30);
  });

  test('does not fill the audit log by ending their own sessions', async () => {
    const { app, person } = await openWebRig(server.url);
    const vera = await person('vera', 'viewer');
    for (let at = 0; at < 30; at++) {
      await vera.get('/sessions');
      await vera.post('/sessions/end-others');
    }
    let ended = 0;
    for await (const line of app.ledger.audit.lines()) {
      if (readEntry(line)?.action === 'user.sessions-ended') ended++;
    }
    expect(ended).toBeLessThan(10);
  });

  test('keeps nobody out, however many connections they open', async () => {
    const CONNECTIONS_MAX = 20;
    const rig = await openWebRig(server.url, {
      deps: () => ({ limits: { connectionsMax: CONNECTIONS_MAX, personConnectionsMax: 10 } }),
    });
    const vera = await rig.person('vera', 'viewer');
    const anna = await rig.person('anna', 'checker');
    const cookieOf = ({ cookies }: typeof vera) => [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const ask = async (agent: Agent, path: string, cookie: string): Promise<number> => {
      const { hostname, port } = new URL(rig.base);
      const asked = get({ host: hostname, port, path, agent, headers: cookie === '' ? {} : { cookie }, timeout: 3000 });
      asked.on('timeout', () => asked.destroy(new Error('no answer')));
      const [answer] = (await once(asked, 'response')) as [IncomingMessage];
      answer.resume();
      await once(answer, 'end');
      return answer.statusCode ?? 0;
    };
    // TOLD_CONNECTIONS_MAX more than the most are told that they are too many; of others nothing is read.
    const agents = Array.from({ length: CONNECTIONS_MAX + 400 }, openConnection);
    for (const agent of agents) await ask(agent, '/sessions', cookieOf(vera)).catch(() => 0);
    const tries = await Promise.all(
      [ask(openConnection(), '/healthz', ''), ask(openConnection(), '/runs', cookieOf(anna))].map((asked) =>
        asked.catch(() => 0),
      ),
    );
    expect(tries).toEqual([204, 200]);
  });
});
