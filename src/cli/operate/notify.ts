import { type EndpointDocument, endpointDocuments } from '../../notify/document.ts';
import { putBack } from '../../notify/put-back.ts';
import { Refusal } from '../../refusal.ts';
import { columns } from '../columns.ts';
import { ledgerCommand } from '../ledger-command.ts';
import { actorOf } from '../open.ts';
import { personName } from '../options.ts';
import { print, printJson, say } from '../print.ts';

const by = ['<name>', 'who does it', personName.optional()] as const;

const retryCommand = ledgerCommand(
  'retry',
  {
    about: 'put a dead letter back, or all of them, and deliver what waits at once',
    takes: { '[id]': 'the id of a notification' },
    options: { all: 'all dead letters of all endpoints', as: by },
    examples: ['payrun notifications retry 0f3c…', 'payrun notifications retry --all'],
  },
  async (app, { id, all, as }) => {
    if (all === (id !== undefined)) throw refuseChoice();
    const count = await putBack(app, { id, actor: actorOf(as) });
    if (id !== undefined && count === 0) throw refuseUnknown(`There is no dead letter ${id}, or no room for it.`);
    say(`${count} were put back; a worker delivers them.`);
  },
);

const dropCommand = ledgerCommand(
  'drop',
  {
    about: 'drop an endpoint that is no longer configured, with all that waits for it and its dead letters',
    takes: { '<name>': 'the name of the endpoint' },
    options: { as: by },
    examples: ['payrun notifications drop old-hook --as anna'],
  },
  async ({ ledger }, { name, as }) => {
    const actor = actorOf(as);
    const dropped = await ledger.outbox.drop(name);
    if (dropped === undefined) throw refuseUnknown(`There is no endpoint ${name}.`);
    const details = { endpoint: name, waiting: String(dropped.waiting), deadLetters: String(dropped.dead) };
    await ledger.audit.append({ actor, action: 'notifications.dropped', target: 'ledger', details });
    say(`Dropped: ${dropped.waiting} that waited, ${dropped.dead} dead letters.`);
  },
);

/** `payrun notifications`: what waits to be told, what was given up, and what to do about it. */
export const notificationsCommand = ledgerCommand(
  'notifications',
  {
    options: { json: 'print an array as JSON' },
    examples: ['payrun notifications', 'payrun notifications retry --all'],
    parts: [retryCommand, dropCommand],
  },
  async (app, { json }) => {
    const documents = endpointDocuments(await app.ledger.outbox.endpoints(), app.config.notify.endpoints);
    if (json) printJson(documents);
    else if (documents.length === 0) say('No endpoint is configured, and nothing waits for one.');
    else print(describe(documents));
  },
);

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

function refuseChoice(): Refusal {
  return new Refusal(
    'Name one notification, or give --all.',
    'See "payrun notifications" for those that were given up.',
  );
}

function refuseUnknown(message: string): Refusal {
  return new Refusal(message, 'See "payrun notifications".');
}
