import { z } from 'zod';
import type { App } from '../../app.ts';
import { rfc3339 } from '../../clock.ts';
import { Refusal } from '../../refusal.ts';
import { blockBeneficiary, readBlocked, unblockBeneficiary } from '../../runs/block.ts';
import { approveRun } from '../../runs/decide/approve.ts';
import { withFunds } from '../../runs/preview/run-funds.ts';
import { readRun } from '../../runs/read-run.ts';
import { columns } from '../columns.ts';
import { command } from '../command.ts';
import { EXIT } from '../exit-code.ts';
import { ledgerCommand } from '../ledger-command.ts';
import { FUNDS_MS_MAX } from '../look/status.ts';
import { actorOf, withLedger } from '../open.ts';
import { parseOptions, personName, reasonText, SANDBOX } from '../options.ts';
import { print, printJson, say } from '../print.ts';
import { printRun } from '../print-run.ts';

/** `payrun approve`: lets a run be paid that waits for a second person. */
export const approveCommand = ledgerCommand(
  'approve',
  {
    tellsPlace: false,
    purpose: 'approve',
    takes: { '<run>': 'the run' },
    options: {
      as: ['<name>', 'who approves', personName],
      sha256: [
        '<digits>',
        'of the file that you looked at, or at least its first 8 digits',
        z.string().regex(/^[0-9a-fA-F]{8,64}$/, 'must be the SHA-256 of the file, or at least its first 8 digits'),
      ],
      json: 'print the run as JSON',
    },
    examples: ['payrun approve 20260131-k3f9xq --sha256 9f86d081 --as bob'],
  },
  async (app, { run: runId, as: actor, sha256, json }) => {
    await app.ensureSeason();
    await withFunds(app, await readRun(app, runId), FUNDS_MS_MAX);
    const { run, missing } = await approveRun(app, runId, { actor, sha256 });
    await printRun(app, run, { json });
    if (missing > 0) say(`Still needed: ${missing} more ${missing === 1 ? 'person' : 'people'}.`);
    return missing > 0 ? EXIT.awaitingApproval : EXIT.ok;
  },
);

const BLOCKED =
  'Payouts to it that were not sent are held when their turn comes. Two people end the block: "payrun unblock".';
const identity = z.guid('must be the UUID of a beneficiary').transform((id) => id.toLowerCase());

/** `payrun block`: stops all payouts to a beneficiary, or shows who is blocked. */
export const blockCommand = command(
  'block',
  {
    takes: { '[id]': ['identity id of the beneficiary', identity.optional()] },
    options: {
      reason: ['<text>', 'why', reasonText.optional()],
      as: ['<name>', 'who does it', personName.optional()],
      sandbox: SANDBOX,
      json: 'print the list as JSON',
    },
    examples: ['payrun block 7d9f1c1e-5f0a-4c56-9f5e-2b1d3c4a5e6f --reason "account taken over" --as anna'],
  },
  async ({ json, sandbox, id, as, reason: given }) => {
    if (id === undefined) return await withLedger((app) => list(app, json), { sandbox, tellsPlace: !json });
    const { reason } = parseOptions(z.object({ reason: reasonText }), { reason: given });
    return await withLedger(
      async (app): Promise<undefined> => {
        await blockBeneficiary(app, id, { actor: actorOf(as), reason });
        print(`${id} is blocked.`);
        say(BLOCKED);
      },
      { sandbox, purpose: 'block', tellsPlace: true },
    );
  },
);

async function list(app: App, json: boolean): Promise<undefined> {
  const blocked = await readBlocked(app);
  if (json) printJson(blocked.map(({ at, ...one }) => ({ ...one, at: rfc3339(at), unblockBy: one.unblockBy ?? null })));
  else if (blocked.length === 0) print('Nobody is blocked.');
  else print(columns(blocked.map(({ identityId, at, by, reason }) => [identityId, rfc3339(at), by, reason])));
}

const UNBLOCK_WORDS = { proposed: 'still blocked', 'not-blocked': 'not blocked', unblocked: 'no longer blocked' };

/** `payrun unblock`: lets payouts to a beneficiary go again, by two people. */
export const unblockCommand = ledgerCommand(
  'unblock',
  {
    purpose: 'unblock',
    takes: { '<id>': ['identity id of the beneficiary', identity] },
    options: { as: ['<name>', 'who does it', personName] },
    examples: ['payrun unblock 7d9f1c1e-5f0a-4c56-9f5e-2b1d3c4a5e6f --as bob'],
  },
  async (app, { id, as }) => {
    const result = await unblockBeneficiary(app, id, as);
    if (result === 'same-person') {
      throw new Refusal(
        `${as} has proposed to end the block. Another person has to do the same.`,
        'Ask somebody else to run the same command with their own name.',
      );
    }
    print(`${id} is ${UNBLOCK_WORDS[result]}.`);
    if (result === 'proposed') say('Still needed: another person, with the same command.');
    if (result === 'unblocked') say('What is held for it is let go by "payrun allow", for each payout.');
  },
);
