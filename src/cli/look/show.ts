import type { App } from '../../app.ts';
import { namedPlaces } from '../../ledger/payouts/place-names.ts';
import type { Decision, Payout, PayoutPlace, RefusedRow } from '../../payout.ts';
import { Refusal } from '../../refusal.ts';
import { isRefused } from '../../report/row.ts';
import { choicesOf, readDecisionRules } from '../../runs/decide/choices.ts';
import { readRun } from '../../runs/read-run.ts';
import { trueRows } from '../../runs/safety/shown-seals.ts';
import { referenceOf } from '../../runs/search/row-list.ts';
import { type Story, storyFacts, storyOf } from '../../runs/story.ts';
import { columns } from '../columns.ts';
import { ledgerCommand } from '../ledger-command.ts';
import { print, printJson, shellWord } from '../print.ts';

/** `payrun show`: one payout's whole story. */
export const showCommand = ledgerCommand(
  'show',
  {
    takes: { '<run>': 'the run', '<reference>': "the payout's reference in the payout file" },
    options: { json: 'print it as JSON', raw: 'print its record as it stands in Redis' },
    examples: ['payrun show 20260131-k3f9xq INV-2026-0042', 'payrun show 20260131-k3f9xq INV-2026-0042 --json'],
  },
  async (app, { run, reference, json, raw }) => {
    const row = await readRow(app, run, reference);
    if (raw) print(await describeRecord(app, { runId: run, line: row.line }));
    else {
      const story = await storyOf(app.ledger, run, row);
      if (json) printJson(story);
      else print([describeStory(story), ...(await decisionsText(app, row))].join('\n\n'));
    }
  },
);

async function readRow(app: App, runId: string, reference: string): Promise<Payout | RefusedRow> {
  const { runs } = app.ledger;
  const run = await readRun(app, runId);
  const row = await findRow(trueRows(app, run, runs.rows(runId)), reference);
  if (row !== undefined) return row;
  throw new Refusal(
    `Run ${runId} has no row with the reference ${reference}.`,
    `See "payrun list ${runId}" for its rows. Upper and lower case and blanks count.`,
  );
}

/** The payout with this reference, else a row with it that intake refused. */
async function findRow(
  batches: AsyncIterable<readonly (Payout | RefusedRow)[]>,
  reference: string,
): Promise<Payout | RefusedRow | undefined> {
  let refused: RefusedRow | undefined;
  for await (const batch of batches) {
    const found = batch.filter((row) => referenceOf(row) === reference);
    const payout = found.find((row) => !isRefused(row));
    if (payout !== undefined) return payout;
    refused ??= found.find(isRefused);
  }
  return refused;
}

/** For whoever has to understand what Redis holds. */
async function describeRecord({ ledger }: App, place: PayoutPlace): Promise<string> {
  const text = (await ledger.rawRecord(place)) ?? '';
  const places = namedPlaces(text).map(([number, name, value]) => [String(number), name, value]);
  return `${columns([['place', 'name', 'value'], ...places])}\n\n${text}`;
}

function describeStory(story: Story): string {
  const parts = [
    columns(storyFacts(story)),
    ...(story.history.length === 0
      ? []
      : [
          columns([
            ['time', 'state', 'by', 'reason', "service's id"],
            ...story.history.map((step) => [step.at, step.to, step.actor, step.reason, step.exchange ?? '']),
          ]),
        ]),
  ];
  return parts.join('\n\n');
}

/** What two people may decide of a held payout, and of what they may not, why and until when. */
async function decisionsText(app: App, row: Payout | RefusedRow): Promise<string[]> {
  if (isRefused(row) || row.state !== 'held') return [];
  const rules = await readDecisionRules(app);
  const choices = choicesOf(row, rules).map(({ decision, whyNot }) => [
    decision,
    whyNot ?? `yes, by two people, each with ${decideCommand(row, decision)}`,
  ]);
  return [columns([['decision', 'is it possible now?'], ...choices])];
}

const COMMANDS = {
  allow: ['allow', ''],
  drop: ['drop', ''],
  paid: ['resolve', ' --paid PAYMENT'],
  'not-paid': ['resolve', ' --not-paid'],
} as const;

function decideCommand({ runId, row }: Payout, decision: Decision): string {
  const [name, options] = COMMANDS[decision];
  return `payrun ${name} ${runId} ${shellWord(row.reference)}${options} --reason TEXT --as NAME`;
}
