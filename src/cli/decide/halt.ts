import type { App } from '../../app.ts';
import { Refusal } from '../../refusal.ts';
import { haltAll } from '../../runs/decide/control.ts';
import { releaseHalt } from '../../runs/decide/release.ts';
import { explain } from '../explain.ts';
import { ledgerCommand } from '../ledger-command.ts';
import { actorOf } from '../open.ts';
import { personName, reasonText, SANDBOX } from '../options.ts';
import { print, printJson, safeText, say } from '../print.ts';

/** `payrun halt`: stops everything at once. */
export const haltCommand = ledgerCommand(
  'halt',
  {
    tellsPlace: false,
    purpose: 'halt',
    unreachable: refuseUnreachable,
    options: {
      reason: ['<text>', 'why', reasonText],
      as: ['<name>', 'who does it', personName.optional()],
      sandbox: SANDBOX,
      json: 'print the halt as JSON',
    },
    examples: ['payrun halt --reason "payments to the wrong account" --as anna'],
  },
  async (app, { reason, as, json }) => {
    const fault = await haltAll(app, { actor: actorOf(as), reason });
    if (fault !== undefined) say(`The halt holds, but the audit log has a fault.\n${explain(fault).text}`);
    const { halt } = await app.ledger.state.read();
    await printHalt(app, json);
    say('Two people release it: "payrun release --as NAME".');
    if (halt !== reason) say('It was halted before; the first reason stands, and a proposal to release it is void.');
  },
);

/** `payrun release`: ends a halt, by two people. */
export const releaseCommand = ledgerCommand(
  'release',
  {
    tellsPlace: false,
    purpose: 'release',
    options: { as: ['<name>', 'who does it', personName], json: 'print the halt as JSON' },
    examples: ['payrun release --as anna', 'payrun release --as bob'],
  },
  async (app, { as, json }) => {
    // The private Redis is started anew with each command: its season opens once this directory has compared its logs.
    await app.ensureSeason();
    const result = await releaseHalt(app, as);
    // What had to wait for the lists that hold now is done again.
    if (result === 'released') await app.ensureSeason();
    if (result === 'same-person') throw refuseSamePerson(as);
    if (result === 'season') throw refuseUnknown();
    await printHalt(app, json);
    if (result === 'proposed') say('Still needed: another person, with "payrun release --as NAME".');
    if (result === 'not-halted') say('There was nothing to release.');
    if (result === 'released')
      say('Runs that are paused stay so: "payrun list" shows them, "payrun resume RUN" lets one go on.');
  },
);

async function printHalt(app: App, json: boolean): Promise<void> {
  const { halt: reason, releaseBy } = await app.ledger.state.read();
  if (json) return printJson({ halt: reason, releaseBy, service: app.serviceName, ledger: app.place });
  const proposed = releaseBy === null ? '' : `; ${releaseBy} proposes to release it`;
  const what = reason === null ? 'Nothing is halted' : `Everything is halted: ${reason}${proposed}`;
  print(safeText(`${what} (service ${app.serviceName}, ledger ${app.place})`));
}

function refuseSamePerson(name: string): Refusal {
  return new Refusal(
    `${name} has proposed the release; another person has to confirm it.`,
    'Ask somebody else to check, and to run "payrun release --as NAME" with their own name.',
  );
}

function refuseUnknown(): Refusal {
  return new Refusal(
    'Redis was restarted or went back in time, and payrun does not know yet what was sent.',
    'Start a worker on each data directory: it compares its intent logs within seconds. Then release it.',
    { kind: 'unavailable' },
  );
}

function refuseUnreachable(refusal: Refusal): Refusal {
  return new Refusal(
    `Nothing was halted. ${refusal.message}`,
    'Nothing is sent while Redis is away; once it answers, what waits goes on by itself. To prevent that, stop the workers ' +
      '(SIGTERM), or halt as soon as it answers.',
    { kind: 'unavailable', cause: refusal },
  );
}
