import { Command } from 'commander';
import { z } from 'zod';
import type { App } from '../app.ts';
import { EXIT, type ExitCode } from '../refusal.ts';
import { columns } from './columns.ts';
import { actorOf, withApp, withLedger } from './open.ts';
import { parseOptions } from './options.ts';
import { print, printJson, say } from './print.ts';

const schema = z.object({ json: z.boolean() });

/** `payrun settings`: what the safety rule depends on, and how to change it for a ledger (design 6). */
export function settingsCommand(end: (code: ExitCode) => void): Command {
  const command = new Command('settings')
    .description("show the ledger's safety settings and those of this process")
    .option('--json', 'print them as JSON', false)
    .addHelpText('after', '\nExamples:\n  payrun settings\n  PAYRUN_QUOTE_GRACE=10m payrun settings adopt')
    .action(async (_raw: unknown, self: Command) => {
      const { json } = parseOptions(schema, self.opts());
      end(await withLedger((app) => showSettings(app, { json })));
    });
  command
    .command('adopt')
    .description("make this process's safety settings those of the ledger, while no worker runs")
    .addHelpText('after', '\nExample:\n  PAYRUN_QUOTE_GRACE=10m payrun settings adopt')
    .action(async (_raw: unknown, self: Command) => {
      const { json } = parseOptions(schema, self.optsWithGlobals());
      end(await withApp({ logLevel: 'error' }, (app) => adoptSettings(app, { json })));
    });
  return command;
}

async function showSettings(app: App, { json }: { json: boolean }): Promise<ExitCode> {
  const { safety } = await app.ledger.head.read();
  const isSame = safety === app.safety;
  if (json) {
    printJson({ service: app.serviceName, ledger: entriesOf(safety), process: entriesOf(app.safety), same: isSame });
    return EXIT.ok;
  }
  const own = entriesOf(app.safety);
  const rows = entriesOf(safety).map((entry, index) => [entry, own[index] === entry ? 'the same' : (own[index] ?? '')]);
  print(columns([['ledger', 'this process'], ...rows]));
  if (!isSame) say('A worker with these settings would be refused; "payrun settings adopt" makes them the ledger\'s.');
  return EXIT.ok;
}

async function adoptSettings(app: App, options: { json: boolean }): Promise<ExitCode> {
  const { safety } = await app.ledger.head.read();
  if (safety === app.safety) say('The ledger has these settings already.');
  else {
    await app.ledger.head.adoptSafety(app.safety);
    await app.ledger.audit.append({
      actor: actorOf(undefined),
      action: 'settings.adopted',
      target: 'ledger',
      details: { before: safety, after: app.safety },
    });
    say('Changed. A worker that is running keeps what it was started with: stop it and start it again.');
  }
  return await showSettings(app, options);
}

function entriesOf(safety: string): string[] {
  return safety.split(', ');
}
