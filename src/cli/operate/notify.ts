import { Command } from 'commander';
import { z } from 'zod';
import type { App } from '../../app.ts';
import { type EndpointDocument, endpointDocuments } from '../../notify/document.ts';
import { putBack } from '../../notify/put-back.ts';
import { EXIT, type ExitCode, Refusal } from '../../refusal.ts';
import { columns } from '../columns.ts';
import { actorOf, withLedger } from '../open.ts';
import { parseOptions, personName } from '../options.ts';
import { print, printJson, say } from '../print.ts';

const schema = z.object({ json: z.boolean() });
const actSchema = z.object({ as: personName.optional() });
const retrySchema = actSchema.extend({ all: z.boolean() });

/** `payrun notifications`: what waits to be told, what was given up, and what to do about it. */
export function notificationsCommand(end: (code: ExitCode) => void): Command {
  const command = new Command('notifications')
    .option('--json', 'print an array as JSON', false)
    .addHelpText('after', '\nExamples:\n  payrun notifications\n  payrun notifications retry --all')
    .action(async (_raw: unknown, self: Command) => {
      const { json } = parseOptions(schema, self.opts());
      end(await withLedger((app) => show(app, json)));
    });
  command
    .command('retry')
    .description('put a dead letter back, or all of them, and deliver what waits at once')
    .argument('[id]', 'the id of a notification')
    .option('--all', 'all dead letters of all endpoints', false)
    .option('--as <name>', 'who does it')
    .addHelpText('after', '\nExamples:\n  payrun notifications retry 0f3c…\n  payrun notifications retry --all')
    .action(async (id: string | undefined, raw: unknown) => {
      const { all, as } = parseOptions(retrySchema, raw);
      if (all === (id !== undefined)) throw refuseChoice();
      end(await withLedger((app) => retry(app, { id, actor: actorOf(as) })));
    });
  command
    .command('drop')
    .description('drop an endpoint that is no longer configured, with all that waits for it and its dead letters')
    .argument('<name>', 'the name of the endpoint')
    .option('--as <name>', 'who does it')
    .addHelpText('after', '\nExample:\n  payrun notifications drop old-hook --as anna')
    .action(async (name: string, raw: unknown) => {
      const { as } = parseOptions(actSchema, raw);
      end(await withLedger((app) => drop(app, { name, actor: actorOf(as) })));
    });
  return command;
}

async function show(app: App, json: boolean): Promise<ExitCode> {
  const documents = endpointDocuments(await app.ledger.outbox.endpoints(), app.config.notify.endpoints);
  if (json) printJson(documents);
  else if (documents.length === 0) say('No endpoint is configured, and nothing waits for one.');
  else print(describe(documents));
  return EXIT.ok;
}

function describe(documents: readonly EndpointDocument[]): string {
  const header = ['endpoint', 'configured', 'waiting', 'next try', 'last failure', 'given up', 'dropped'];
  const rows = documents.map((one) => [
    one.name,
    one.configured ? 'yes' : 'not here',
    String(one.waiting),
    one.nextTryAt ?? '',
    one.lastFailure ?? '',
    String(one.deadLetters.length),
    String(one.deadLettersDropped),
  ]);
  const letters = documents.flatMap(({ name, deadLetters }) =>
    deadLetters.map((letter) => [letter.id, name, letter.event, letter.runId ?? '', letter.at, letter.reason]),
  );
  const given = ['given up', 'endpoint', 'event', 'run', 'happened', 'reason'];
  return [columns([header, ...rows]), ...(letters.length === 0 ? [] : [columns([given, ...letters])])].join('\n\n');
}

async function retry(app: App, { id, actor }: { id: string | undefined; actor: string }): Promise<ExitCode> {
  const count = await putBack(app, { id, actor });
  if (id !== undefined && count === 0) throw refuseUnknown(`There is no dead letter ${id}, or no room for it.`);
  say(`${count} were put back; a worker delivers them.`);
  return EXIT.ok;
}

async function drop(app: App, { name, actor }: { name: string; actor: string }): Promise<ExitCode> {
  const dropped = await app.ledger.outbox.drop(name);
  if (dropped === undefined) throw refuseUnknown(`There is no endpoint ${name}.`);
  const details = { endpoint: name, waiting: String(dropped.waiting), deadLetters: String(dropped.dead) };
  await app.ledger.audit.append({ actor, action: 'notifications.dropped', target: 'ledger', details });
  say(`Dropped: ${dropped.waiting} that waited, ${dropped.dead} dead letters.`);
  return EXIT.ok;
}

function refuseChoice(): Refusal {
  return new Refusal('Name one notification, or give --all.', {
    exitCode: EXIT.usage,
    remedy: 'See "payrun notifications" for those that were given up.',
  });
}

function refuseUnknown(message: string): Refusal {
  return new Refusal(message, { exitCode: EXIT.usage, remedy: 'See "payrun notifications".' });
}
