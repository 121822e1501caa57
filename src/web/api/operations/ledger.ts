import { z } from 'zod';
import { reasonText } from '../../../access/words.ts';
import { rfc3339 } from '../../../clock.ts';
import { CAPABILITIES, SANDBOX_NAME } from '../../../config/config.ts';
import { capabilitiesThatHold } from '../../../ledger/intents/safety.ts';
import { haltAll } from '../../../runs/decide/control.ts';
import { readWork } from '../../../runs/outages.ts';
import { settingsIn } from '../../../runs/safety/adopt-settings.ts';
import { actorOf } from '../../actor.ts';
import { Problem } from '../../problem.ts';
import { adoptSeen, releaseByTwo } from '../../settings/second-person.ts';
import type { Web, WebDeps } from '../../web.ts';

const text = z.string();
const haltMembers = { halt: text.nullable(), releaseBy: text.nullable(), service: text };
const halt = z.object(haltMembers);
const released = z.object({ result: z.enum(['proposed', 'released', 'not-halted']), ...haltMembers });

const settings = z.object({ service: text, ledger: z.array(text), process: z.array(text), same: z.boolean() });
const status = z.object({
  service: text,
  sandbox: z.boolean(),
  environment: z.enum(['test', 'prod']),
  halt: text.nullable(),
  outages: z
    .array(z.object({ what: z.enum(['service', 'disk']), name: text, since: text, fault: text.optional() }))
    .describe('What workers wait for: a service that does not answer, a disk that is full'),
  workers: z.int().describe('Workers that live; one that was killed is among them for 10 seconds'),
  paying: z
    .object({ rows: z.int(), sent: z.int(), inDoubt: z.int(), waiting: z.int() })
    .describe(
      'Rows of all runs that are being paid: how many were sent, how many of those are in doubt, how many wait',
    ),
  season: z.object({
    open: z.boolean(),
    missing: z.array(text).describe('Data directories that have yet to compare their intent logs'),
  }),
  capabilities: z.record(text, z.boolean()),
  overrides: z.array(text),
});

/** What concerns the ledger as a whole. */
export function addLedgerOperations(api: Web, deps: WebDeps): void {
  const { app } = deps;
  const read = { act: 'read' } as const;

  const readHalt = async (): Promise<z.infer<typeof halt>> => {
    const { halt: reason, releaseBy } = await app.ledger.state.read();
    return { halt: reason, releaseBy, service: app.serviceName };
  };

  const shown = { summary: 'Whether everything is halted', response: { 200: halt } };
  api.get('/halt', { config: read, schema: shown }, async () => await readHalt());

  const body = z.strictObject({ reason: reasonText });
  const stop = { summary: 'Stop everything, until two people release it', body, response: { 200: halt } };
  api.post('/halt', { config: { act: 'halt' }, schema: stop }, async ({ body: { reason }, who }) => {
    const fault = await haltAll(app, { actor: actorOf({ who }), reason });
    if (fault !== undefined) app.log.error('the halt is not on the audit log', { error: fault });
    return await readHalt();
  });

  const release = { summary: 'Propose to release a halt, or confirm it', response: { 200: released } };
  api.post('/release', { config: { act: 'settle' }, schema: release }, async ({ who }) => {
    const result = await releaseByTwo(app, actorOf({ who }));
    return { result, ...(await readHalt()) };
  });

  const safety = { summary: "The ledger's safety settings, and those of this process", response: { 200: settings } };
  const readSettings = async (): Promise<z.infer<typeof settings>> => {
    const { safety: ledger } = await app.ledger.state.read();
    const same = ledger === app.safety;
    return { service: app.serviceName, ledger: settingsIn(ledger), process: settingsIn(app.safety), same };
  };
  api.get('/settings', { config: read, schema: safety }, readSettings);

  const adopt = {
    summary: "Make this process's safety settings the ledger's; two admins where limits or approval change",
    body: z.strictObject({
      ledger: z.array(text.max(4000)).max(100).describe('Those of the ledger, as they were seen'),
    }),
    response: { 200: settings.extend({ result: z.enum(['there', 'proposed', 'adopted']) }) },
  };
  api.post('/settings/adopt', { config: { act: 'settings' }, schema: adopt }, async ({ body: { ledger }, who }) => {
    const result = await adoptSeen(app, { before: ledger.join(', '), actor: actorOf({ who }) });
    if (result === 'same-person')
      throw new Problem(409, 'You have proposed them before.', 'Another admin has to look and to do the same.');
    return { result, ...(await readSettings()) };
  });

  const facts = { summary: 'Whose money moves, and whether it may', response: { 200: status } };
  api.get('/status', { config: read, schema: facts }, async () => await readStatus(deps));
}

async function readStatus({ app }: WebDeps): Promise<z.infer<typeof status>> {
  const [head, { open, missing }, noted, paying, workers] = await Promise.all([
    app.ledger.state.read(),
    app.ledger.state.season(),
    app.ledger.outages.read(),
    readWork(app.ledger),
    app.jobs.workers(),
  ]);
  const hold = capabilitiesThatHold(head);
  return {
    service: app.serviceName,
    sandbox: app.serviceName === SANDBOX_NAME,
    environment: app.config.service?.environment ?? 'test',
    halt: head.halt,
    outages: noted.map(({ since, ...outage }) => ({ ...outage, since: rfc3339(since) })),
    workers: workers.length,
    paying,
    season: { open, missing: [...missing] },
    capabilities: Object.fromEntries(CAPABILITIES.map((name) => [name, hold[name] ?? false])),
    overrides: [...app.overrides],
  };
}
