import { Command } from 'commander';
import { z } from 'zod';
import type { App } from '../../app.ts';
import { EXIT, type ExitCode, Refusal } from '../../refusal.ts';
import { haltAll, releaseHalt } from '../../runs/decide/control.ts';
import { explain } from '../explain.ts';
import { actorOf, withLedger } from '../open.ts';
import { parseOptions, personName, reasonText, sandboxOption } from '../options.ts';
import { print, printJson, safeText, say } from '../print.ts';

const haltSchema = z.object({ reason: reasonText, as: personName.optional(), sandbox: z.boolean(), json: z.boolean() });
const releaseSchema = z.object({ as: personName, json: z.boolean() });

/** `payrun halt`: stops everything at once. */
export function haltCommand(end: (code: ExitCode) => void): Command {
  return new Command('halt')
    .requiredOption('--reason <text>', 'why')
    .option('--as <name>', 'who does it')
    .addOption(sandboxOption())
    .option('--json', 'print the halt as JSON', false)
    .addHelpText('after', '\nExample:\n  payrun halt --reason "payments to the wrong account" --as anna')
    .action(async (raw: unknown) => {
      const { reason, json, sandbox, ...options } = parseOptions(haltSchema, raw);
      end(
        await withLedger((app) => halt(app, { actor: actorOf(options.as), reason, json }), {
          sandbox,
          purpose: 'halt',
        }),
      );
    });
}

/** `payrun release`: ends a halt, by two people. */
export function releaseCommand(end: (code: ExitCode) => void): Command {
  return new Command('release')
    .requiredOption('--as <name>', 'who does it')
    .option('--json', 'print the halt as JSON', false)
    .addHelpText('after', '\nExample:\n  payrun release --as anna\n  payrun release --as bob')
    .action(async (raw: unknown) => {
      const { as, json } = parseOptions(releaseSchema, raw);
      end(await withLedger((app) => release(app, { actor: as, json }), { purpose: 'release' }));
    });
}

async function halt(app: App, by: { actor: string; reason: string; json: boolean }): Promise<ExitCode> {
  const fault = await haltAll(app, by);
  if (fault !== undefined) say(`The halt holds, but the audit log has a fault.\n${explain(fault).text}`);
  const { halt: reason } = await app.ledger.state.read();
  await printHalt(app, by);
  if (reason !== by.reason) say('It was halted before; the first reason stands, and a proposal to release it is void.');
  return EXIT.ok;
}

async function release(app: App, { actor, json }: { actor: string; json: boolean }): Promise<ExitCode> {
  // The private Redis is started anew with each command: its season opens once this directory has compared its logs.
  await app.ensureSeason();
  const result = await releaseHalt(app, actor);
  if (result === 'same-person') throw refuseSamePerson(actor);
  if (result === 'season') throw refuseUnknown();
  await printHalt(app, { json });
  if (result === 'proposed') say('Still needed: another person, with "payrun release --as NAME".');
  if (result === 'not-halted') say('There was nothing to release.');
  if (result === 'released')
    say('Runs that are paused stay so: "payrun list" shows them, "payrun resume RUN" lets one go on.');
  return EXIT.ok;
}

async function printHalt(app: App, { json }: { json: boolean }): Promise<void> {
  const { halt: reason, releaseBy } = await app.ledger.state.read();
  if (json) return printJson({ halt: reason, releaseBy, service: app.serviceName, ledger: app.place });
  const proposed = releaseBy === null ? '' : `; ${releaseBy} proposes to release it`;
  const what = reason === null ? 'Nothing is halted' : `Everything is halted: ${reason}${proposed}`;
  print(safeText(`${what} (service ${app.serviceName}, ledger ${app.place})`));
}

function refuseSamePerson(name: string): Refusal {
  return new Refusal(`${name} has proposed the release; another person has to confirm it.`, {
    exitCode: EXIT.usage,
    remedy: 'Ask somebody else to check, and to run "payrun release --as NAME" with their own name.',
  });
}

function refuseUnknown(): Refusal {
  return new Refusal('Redis was restarted or went back in time, and payrun does not know yet what was sent.', {
    exitCode: EXIT.unavailable,
    remedy: 'Start a worker on each data directory: it compares its intent logs within seconds. Then release it.',
  });
}
