import { Command } from 'commander';
import { z } from 'zod';
import type { App } from '../../app.ts';
import { readConfig, settingSources } from '../../config/config.ts';
import { EXIT, type ExitCode, Refusal } from '../../refusal.ts';
import { type Adopted, adoptSettings, settingsIn } from '../../runs/safety/adopt-settings.ts';
import { columns } from '../columns.ts';
import { actorOf, withApp, withLedger } from '../open.ts';
import { parseOptions, personName } from '../options.ts';
import { print, printJson, say } from '../print.ts';

const schema = z.object({ json: z.boolean() });

/** `payrun settings`: what the safety rule depends on, and how to change it for a ledger. */
export function settingsCommand(end: (code: ExitCode) => void): Command {
  const command = new Command('settings')
    .option('--json', 'print them as JSON', false)
    .addHelpText(
      'after',
      '\nWithout a word after it, it compares what the safety of the ledger depends on with this process.' +
        '\n\nExamples:\n  payrun settings\n  payrun settings show\n  PAYRUN_QUOTE_GRACE=10m payrun settings adopt',
    )
    .action(async (_raw: unknown, self: Command) => {
      const { json } = parseOptions(schema, self.opts());
      end(await withLedger((app) => showSettings(app, { json })));
    });
  command
    .command('show')
    .description('tell what each setting is and where it comes from; of secrets a fingerprint')
    .addHelpText('after', '\nExample:\n  payrun settings show --json')
    .action((_raw: unknown, self: Command) => {
      const { json, envFile } = parseOptions(schema.extend({ envFile: z.string().optional() }), self.optsWithGlobals());
      showSources(envFile, { json });
      end(EXIT.ok);
    });
  command
    .command('adopt')
    .description("make this process's safety settings those of the ledger, while no worker runs")
    .option('--as <name>', 'who does it')
    .addHelpText(
      'after',
      '\nA change of limits or approval takes two people: one proposes it, another one gives the same command.' +
        '\n\nExample:\n  PAYRUN_QUOTE_GRACE=10m payrun settings adopt --as anna',
    )
    .action(async (_raw: unknown, self: Command) => {
      const { json, as } = parseOptions(schema.extend({ as: personName.optional() }), self.optsWithGlobals());
      end(
        await withApp({ logLevel: 'error', makesLedger: false, purpose: 'change' }, (app) =>
          adopt(app, { json, actor: actorOf(as) }),
        ),
      );
    });
  return command;
}

/** Throws a Refusal (exit 2) for settings that are wrong, once they are shown. */
function showSources(envFile: string | undefined, { json }: { json: boolean }): void {
  const settings = settingSources(envFile);
  if (json) printJson(settings);
  else print(columns(settings.map(({ name, value, from }) => [name, value, from])));
  readConfig();
}

async function showSettings(app: App, { json }: { json: boolean }): Promise<ExitCode> {
  const { safety } = await app.ledger.state.read();
  const isSame = safety === app.safety;
  if (json) {
    printJson({ service: app.serviceName, ledger: settingsIn(safety), process: settingsIn(app.safety), same: isSame });
    return EXIT.ok;
  }
  const own = settingsIn(app.safety);
  const rows = settingsIn(safety).map((entry, index) => [
    entry,
    own[index] === entry ? 'the same' : (own[index] ?? ''),
  ]);
  print(columns([['ledger', 'this process'], ...rows]));
  if (!isSame) say('A worker with these settings would be refused; "payrun settings adopt" makes them the ledger\'s.');
  return EXIT.ok;
}

const ADOPTED: Readonly<Record<Exclude<Adopted, 'same-person'>, string>> = {
  there: 'The ledger has these settings already.',
  adopted: 'Changed. Start the workers again, with these settings.',
  proposed: 'Limits or approval change: another person has to give the same command with their own name (--as).',
};

async function adopt(app: App, { json, actor }: { json: boolean; actor: string }): Promise<ExitCode> {
  const result = await adoptSettings(app, actor);
  if (result === 'same-person') throw refuseSamePerson(actor);
  say(ADOPTED[result]);
  return await showSettings(app, { json });
}

function refuseSamePerson(name: string): Refusal {
  return new Refusal(`${name} has proposed these settings; another person has to adopt them.`, {
    exitCode: EXIT.usage,
    remedy: 'Ask somebody else to look at "payrun settings" and to run "payrun settings adopt --as NAME".',
  });
}
