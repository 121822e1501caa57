import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { App } from '../../src/app.ts';
import { hashReference } from '../../src/intake/row/reference-hash.ts';
import { refusedFields, rowFields } from '../../src/ledger/payouts/record.ts';
import { keyField, userField } from '../../src/ledger/people/people.ts';
import { writeReport } from '../../src/runs/after/report.ts';
import { setSchedule } from '../../src/schedules/set.ts';
import { rowAt } from '../runs/recorded-run.ts';
import { giveUp } from './given-up.ts';
import type { Visitor } from './visitor.ts';
import { type Names, uploadMistakes } from './whole-site.ts';

/** The texts wherever somebody's words can stand: a run, a row, a person and so on for each of them. */
export async function fillNaughty(app: App, admin: Visitor, texts: readonly string[]): Promise<Names> {
  const run = await recordNaughty(app, texts);
  for (const [at, text] of texts.entries()) {
    const act = { actor: text, action: text, target: text, details: { reason: text, [text]: text } };
    await app.ledger.audit.append(act);
    await app.ledger.approvals.block(`0f0c7a52-6b1d-4c8e-9a34-${String(at).padStart(12, '0')}`, {
      by: text,
      reason: text,
    });
    await app.ledger.runs.move(run, { to: at % 2 === 0 ? 'paused' : 'paying', actor: text, reason: text });
    await addNaughtyPeople(app, at, text);
    await giveUp(app, { id: `n-${at}`, endpoint: text, reason: text });
  }
  await app.ledger.runs.move(run, { to: 'paying', actor: 'test', reason: 'test' });
  await addNaughtySchedules(app, texts);
  const act = { kind: 'inbox', dir: layNaughtyFiles(app.config.dataDir, texts) } as const;
  await setSchedule(
    app,
    { cron: '0 0 * * *', zone: 'UTC', act, windowMs: 3_600_000 },
    { name: 'daily', actor: 'test' },
  );
  await app.ledger.state.halt('test', texts[0] ?? '');
  mkdirSync(app.config.reportDir, { recursive: true });
  await writeReport(app, run);
  return { run, line: '2', file: 'v1.csv', id: await uploadMistakes(admin, `${texts[0]}.csv`, texts.at(-1)) };
}

async function recordNaughty({ ledger }: App, texts: readonly string[]): Promise<string> {
  const amount = { minor: 10_050n, currency: 'USD' };
  const runs = texts.map((text, at) => ({ id: `r${at}`, fileName: text, createdBy: text }));
  for (const { id, ...words } of runs) {
    const rows = { rows: 2 * texts.length, fileTotals: [amount] };
    await ledger.runs.claim({ id, ...words, ...rows, fileSha256: `sha-${id}`, contentHash: id });
  }
  const valid = texts.map((text, at) => {
    const row = { ...rowAt(at + 2), reference: text };
    const fields = rowFields(row, ledger.seals.row({ runId: 'r0', line: row.line }, row, false));
    return { line: row.line, state: 'ready' as const, fields, amount, referenceHash: hashReference(text) };
  });
  const refused = texts.map((text, at) => {
    const line = at + 2 + texts.length;
    const cells = { reference: text, amount: text, purposeCode: text };
    const fields = refusedFields({ line, cells, amount, code: 'E_AMOUNT', message: text });
    return { line, state: 'refused' as const, fields, amount, referenceHash: null };
  });
  await ledger.runs.record('r0', [...valid, ...refused], 86_400_000);
  const run = await ledger.runs.read('r0');
  if (run === undefined) throw new Error('the run was not recorded');
  await ledger.runs.note('r0', { lastLine: String(2 * texts.length + 1), seal: ledger.seals.run(run) });
  await ledger.runs.move('r0', { to: 'paying', actor: 'test', reason: 'submitted' });
  for (const [at, text] of texts.entries()) {
    const place = { runId: 'r0', line: at + 2 };
    await ledger.payouts.move({ ...place, to: 'held', actor: text, reason: text });
  }
  return 'r0';
}

/** No door takes such names; they stand for one that some day does. */
async function addNaughtyPeople({ ledger }: App, at: number, text: string): Promise<void> {
  const { version } = await ledger.people.read();
  const act = { actor: text, action: 'user.added', target: `user ${text}`, details: {} };
  const user = { name: text, role: 'viewer', isDisabled: false, password: '', secretUntil: null, epoch: 0 } as const;
  const key = { id: String(at).padStart(16, '0'), name: text, role: 'viewer', hash: '', createdBy: text } as const;
  await ledger.people.change({
    version,
    act,
    fields: {
      ...userField({ ...user, addedBy: text, addedAt: 1, vouched: null, factor: null }),
      ...keyField({ ...key, createdAt: 1, expiresAt: null }),
    },
  });
}

async function addNaughtySchedules({ ledger }: App, texts: readonly string[]): Promise<void> {
  const next = 4_000_000_000_000;
  for (const text of texts.slice(0, 90)) {
    await ledger.schedules.set({ name: text, definition: `{"broken":${JSON.stringify(text)}}`, next, setBy: text });
  }
}

/** An inbox with all names that a folder can hold; gives its path. */
function layNaughtyFiles(dataDir: string, texts: readonly string[]): string {
  const folder = join(dataDir, 'inbox');
  for (const name of ['in', 'claimed', 'reports']) mkdirSync(join(folder, name), { recursive: true });
  const names = [...texts, ...texts.map((text) => `${text.slice(0, 1)}x.csv`)].filter((text) => !/[/\0]/.test(text));
  for (const name of names) writeFileSync(join(folder, 'in', name), 'x');
  return folder;
}
