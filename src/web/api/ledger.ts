import { z } from 'zod';
import { CAPABILITIES, SANDBOX_NAME } from '../../config.ts';
import { capabilitiesThatHold } from '../../ledger/safety.ts';
import { reasonText } from '../../people/words.ts';
import { haltAll, releaseHalt } from '../../runs/control.ts';
import { actorOf } from '../actor.ts';
import { Problem } from '../problem.ts';
import type { Web, WebDeps } from '../web.ts';

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
    const { halt: reason, releaseBy } = await app.ledger.head.read();
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
    await app.ensureSeason();
    const result = await releaseHalt(app, actorOf({ who }));
    if (result === 'same-person') {
      throw new Problem(409, 'You have proposed the release.', 'Another person has to look and to confirm it.');
    }
    if (result === 'season') {
      throw new Problem(
        503,
        'Redis was restarted or went back in time, and what was sent is not known yet.',
        'Start a worker on each data directory: it compares its intent logs within seconds. Then release the halt.',
      );
    }
    return { result, ...(await readHalt()) };
  });

  const safety = { summary: "The ledger's safety settings, and those of this process", response: { 200: settings } };
  api.get('/settings', { config: read, schema: safety }, async () => {
    const { safety: ledger } = await app.ledger.head.read();
    return {
      service: app.serviceName,
      ledger: ledger.split(', '),
      process: app.safety.split(', '),
      same: ledger === app.safety,
    };
  });

  const facts = { summary: 'Whose money moves, and whether it may', response: { 200: status } };
  api.get('/status', { config: read, schema: facts }, async () => await readStatus(deps));
}

async function readStatus({ app }: WebDeps): Promise<z.infer<typeof status>> {
  const [head, { open, missing }] = await Promise.all([app.ledger.head.read(), app.ledger.head.season()]);
  const hold = capabilitiesThatHold(head);
  return {
    service: app.serviceName,
    sandbox: app.serviceName === SANDBOX_NAME,
    environment: app.config.service?.environment ?? 'test',
    halt: head.halt,
    season: { open, missing: [...missing] },
    capabilities: Object.fromEntries(CAPABILITIES.map((name) => [name, hold[name] ?? false])),
    overrides: [...app.overrides],
  };
}
