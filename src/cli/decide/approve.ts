import { Command } from 'commander';
import { z } from 'zod';
import type { App } from '../../app.ts';
import { rfc3339 } from '../../clock.ts';
import { EXIT, type ExitCode, Refusal } from '../../refusal.ts';
import { blockBeneficiary, readBlocked, unblockBeneficiary } from '../../runs/block.ts';
import { approveRun } from '../../runs/decide/approve.ts';
import { columns } from '../columns.ts';
import { type AppCommand, actorOf, withLedger } from '../open.ts';
import { parseOptions, personName, reasonText, sandboxOption } from '../options.ts';
import { print, printJson, say } from '../print.ts';
import { printRun } from '../print-run.ts';

const approveSchema = z.object({
  as: personName,
  sha256: z.string().regex(/^[0-9a-fA-F]{8,64}$/, 'must be the SHA-256 of the file, or at least its first 8 digits'),
  json: z.boolean(),
});

/** `payrun approve`: lets a run be paid that waits for a second person. */
export function approveCommand(end: (code: ExitCode) => void): Command {
  return new Command('approve')
    .argument('<run>', 'the run')
    .requiredOption('--as <name>', 'who approves')
    .requiredOption('--sha256 <digits>', 'of the file that you looked at, or at least its first 8 digits')
    .option('--json', 'print the run as JSON', false)
    .addHelpText('after', '\nExample:\n  payrun approve 20260131-k3f9xq --sha256 9f86d081 --as bob')
    .action(async (runId: string, raw: unknown) => {
      const { as: actor, sha256, json } = parseOptions(approveSchema, raw);
      end(await withLedger((app) => approve(app, runId, { actor, sha256, json }), { purpose: 'approve' }));
    });
}

async function approve(
  app: App,
  runId: string,
  { json, ...asked }: { actor: string; sha256: string; json: boolean },
): Promise<ExitCode> {
  await app.ensureSeason();
  const { run, missing } = await approveRun(app, runId, asked);
  await printRun(app, run, { json });
  if (missing > 0) say(`Still needed: ${missing} more ${missing === 1 ? 'person' : 'people'}.`);
  return missing > 0 ? EXIT.awaitingApproval : EXIT.ok;
}

const identity = z.uuid('must be the UUID of a beneficiary').transform((id) => id.toLowerCase());
const blockSchema = z.object({ reason: reasonText, as: personName.optional(), id: identity });
const unblockSchema = z.object({ as: personName, id: identity });

/** `payrun block`: stops all payouts to a beneficiary, or shows who is blocked. */
export function blockCommand(end: (code: ExitCode) => void): Command {
  return new Command('block')
    .argument('[id]', 'identity id of the beneficiary')
    .option('--reason <text>', 'why')
    .option('--as <name>', 'who does it')
    .addOption(sandboxOption())
    .option('--json', 'print the list as JSON', false)
    .addHelpText(
      'after',
      '\nExample:\n  payrun block 7d9f1c1e-5f0a-4c56-9f5e-2b1d3c4a5e6f --reason "account taken over" --as anna',
    )
    .action(async (id: string | undefined, raw: unknown) => {
      const { json, sandbox, ...options } = parseOptions(
        z.looseObject({ json: z.boolean(), sandbox: z.boolean() }),
        raw,
      );
      if (id === undefined) return end(await withLedger((app) => list(app, json), { sandbox }));
      const act: AppCommand = (app) => block(app, { ...options, id });
      end(await withLedger(act, { sandbox, purpose: 'block', tellsPlace: true }));
    });
}

async function block(app: App, raw: object): Promise<ExitCode> {
  const { id, reason, as } = parseOptions(blockSchema, raw);
  await blockBeneficiary(app, id, { actor: actorOf(as), reason });
  print(`${id} is blocked.`);
  say('Payouts to it that were not sent are held when their turn comes. Two people end the block: "payrun unblock".');
  return EXIT.ok;
}

async function list(app: App, json: boolean): Promise<ExitCode> {
  const blocked = await readBlocked(app);
  if (json) printJson(blocked.map(({ at, ...one }) => ({ ...one, at: rfc3339(at), unblockBy: one.unblockBy ?? null })));
  else if (blocked.length === 0) print('Nobody is blocked.');
  else print(columns(blocked.map(({ identityId, at, by, reason }) => [identityId, rfc3339(at), by, reason])));
  return EXIT.ok;
}

/** `payrun unblock`: lets payouts to a beneficiary go again, by two people. */
export function unblockCommand(end: (code: ExitCode) => void): Command {
  return new Command('unblock')
    .argument('<id>', 'identity id of the beneficiary')
    .requiredOption('--as <name>', 'who does it')
    .addHelpText('after', '\nExample:\n  payrun unblock 7d9f1c1e-5f0a-4c56-9f5e-2b1d3c4a5e6f --as bob')
    .action(async (id: string, raw: unknown) => {
      const asked = parseOptions(unblockSchema, { ...z.object({ as: z.string() }).parse(raw), id });
      end(await withLedger((app) => unblock(app, asked), { purpose: 'unblock', tellsPlace: true }));
    });
}

const UNBLOCK_WORDS = { proposed: 'still blocked', 'not-blocked': 'not blocked', unblocked: 'no longer blocked' };

async function unblock(app: App, { id, as }: { id: string; as: string }): Promise<ExitCode> {
  const result = await unblockBeneficiary(app, id, as);
  if (result === 'same-person') {
    throw new Refusal(`${as} has proposed to end the block. Another person has to do the same.`, {
      exitCode: EXIT.usage,
      remedy: 'Ask somebody else to run the same command with their own name.',
    });
  }
  print(`${id} is ${UNBLOCK_WORDS[result]}.`);
  if (result === 'proposed') say('Still needed: another person, with the same command.');
  if (result === 'unblocked') say('What is held for it is let go by "payrun allow", for each payout.');
  return EXIT.ok;
}
