import { z } from 'zod';
import type { App } from '../../app.ts';
import { readConfig, settingSources } from '../../config/config.ts';
import { Refusal } from '../../refusal.ts';
import { type Adopted, adoptSettings, settingsIn } from '../../runs/safety/adopt-settings.ts';
import { columns } from '../columns.ts';
import { command } from '../command.ts';
import { ledgerCommand } from '../ledger-command.ts';
import { actorOf, withApp } from '../open.ts';
import { personName } from '../options.ts';
import { print, printJson, say } from '../print.ts';

const above = { json: 'print them as JSON' } as const;

const showCommand = command(
  'show',
  {
    about: 'tell what each setting is and where it comes from; of secrets a fingerprint',
    above: { ...above, envFile: ['<file>', 'as the program has it', z.string().optional()] },
    examples: ['payrun settings show --json'],
  },
  async ({ envFile, json }) => showSources(envFile, { json }),
);

const adoptCommand = command(
  'adopt',
  {
    about: "make this process's safety settings those of the ledger, while no worker runs",
    options: { as: ['<name>', 'who does it', personName.optional()] },
    above,
    help: 'A change of limits or approval takes two people: one proposes it, another one gives the same command.',
    examples: ['PAYRUN_QUOTE_GRACE=10m payrun settings adopt --as anna'],
  },
  async ({ json, as }) =>
    await withApp({ logLevel: 'error', makesLedger: false, purpose: 'change' }, (app) =>
      adopt(app, { json, actor: actorOf(as) }),
    ),
);

/** `payrun settings`: what the safety rule depends on, and how to change it for a ledger. */
export const settingsCommand = ledgerCommand(
  'settings',
  {
    options: above,
    help: 'Without a word after it, it compares what the safety of the ledger depends on with this process.',
    examples: ['payrun settings', 'payrun settings show', 'PAYRUN_QUOTE_GRACE=10m payrun settings adopt'],
    parts: [showCommand, adoptCommand],
  },
  (app, { json }) => showSettings(app, { json }),
);

/** Throws a Refusal (exit 2) for settings that are wrong, once they are shown. */
function showSources(envFile: string | undefined, { json }: { json: boolean }): undefined {
  const settings = settingSources(envFile);
  if (json) printJson(settings);
  else print(columns(settings.map(({ name, value, from }) => [name, value, from])));
  readConfig();
}

async function showSettings(app: App, { json }: { json: boolean }): Promise<undefined> {
  const { safety } = await app.ledger.state.read();
  const isSame = safety === app.safety;
  if (json) {
    printJson({ service: app.serviceName, ledger: settingsIn(safety), process: settingsIn(app.safety), same: isSame });
    return;
  }
  const own = settingsIn(app.safety);
  const rows = settingsIn(safety).map((entry, index) => [
    entry,
    own[index] === entry ? 'the same' : (own[index] ?? ''),
  ]);
  print(columns([['ledger', 'this process'], ...rows]));
  if (!isSame) say('A worker with these settings would be refused; "payrun settings adopt" makes them the ledger\'s.');
}

const ADOPTED: Readonly<Record<Exclude<Adopted, 'same-person'>, string>> = {
  there: 'The ledger has these settings already.',
  adopted: 'Changed. Start the workers again, with these settings.',
  proposed: 'Limits or approval change: another person has to give the same command with their own name (--as).',
};

async function adopt(app: App, { json, actor }: { json: boolean; actor: string }): Promise<undefined> {
  const result = await adoptSettings(app, actor);
  if (result === 'same-person') throw refuseSamePerson(actor);
  say(ADOPTED[result]);
  return await showSettings(app, { json });
}

function refuseSamePerson(name: string): Refusal {
  return new Refusal(
    `${name} has proposed these settings; another person has to adopt them.`,
    'Ask somebody else to look at "payrun settings" and to run "payrun settings adopt --as NAME".',
  );
}
