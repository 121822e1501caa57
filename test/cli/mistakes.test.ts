import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { type Ended, ROOT, useProcesses } from '../support/payrun-processes.ts';
import { MISTAKES, type Mistake } from './mistakes.ts';

const PAGE = join(ROOT, 'docs/mistakes.md');
/** So many processes at a time. */
const TOGETHER = 4;
const LINES_SHOWN_MAX = 12;

const HEAD = `# Mistakes

What payrun shows to somebody who makes a usual mistake: each was made, and this page is written from what came of it. In
the examples \`FOLDER\` stands for the working folder. Exit codes: \`payrun help exit-codes\`.

| # | mistake | command | exit code | what is shown |
|---|---|---|---|---|
`;

const TAIL = `
\`N\` and \`TIME\` stand for what differs each time. Of a command that was interrupted only the lines stand here that say so, and why it waited.

What happens when something fails in the middle of a run is tried too: Ctrl-C in each phase (\`test/cli/interrupted.test.ts\`), a
service, a Redis or a disk that is gone or full (\`test/cli/outages-of-runs.test.ts\`, \`test/redis/private-redis.test.ts\`,
\`test/sandbox/storage.test.ts\`), a disk that can only be read (\`test/ledger/read-only-disk.test.ts\`), root
(\`test/cli/as-root.test.ts\`), narrow terminals, none, \`TERM=dumb\`, \`NO_COLOR\` and \`LANG=C\` (\`test/cli/progress.test.ts\`,
\`test/cli/ascii.test.ts\`).
`;

const processes = useProcesses();
let ended: readonly Shown[];

interface Shown extends Ended {
  readonly mistake: Mistake;
  readonly text: string;
}

beforeAll(async () => {
  const waiting = [...MISTAKES];
  const shown = new Map<Mistake, Shown>();
  const worker = async (): Promise<void> => {
    for (let mistake = waiting.shift(); mistake !== undefined; mistake = waiting.shift()) {
      shown.set(mistake, await make(mistake));
    }
  };
  await Promise.all(Array.from({ length: TOGETHER }, worker));
  ended = MISTAKES.flatMap((mistake) => shown.get(mistake) ?? []);
}, 600_000);

async function make(mistake: Mistake): Promise<Shown> {
  const cwd = processes.folder();
  for (const [name, { text, mode = 0o600 }] of Object.entries(mistake.files ?? {})) {
    writeFileSync(join(cwd, name), text, { mode });
  }
  const { through = [], before, until, env = {} } = mistake;
  const given = Object.entries(env).map(([name, value]) => [name, value.replaceAll('FOLDER', cwd)]);
  const options = { cwd, env: Object.fromEntries(given), through };
  if (before !== undefined) await processes.run(before.split(' '), options);
  const started = processes.start(mistake.command.split(' ').filter(Boolean), options);
  if (until !== undefined) {
    await started.said(until);
    started.kill('SIGINT');
  }
  const done = await started.ended;
  // Whoever tests may be root, of which a newcomer is told.
  const lines = `${done.stderr}${done.stdout}`.split('\n').filter((line) => !line.startsWith('payrun runs as root'));
  const text = lines
    .join('\n')
    .replaceAll(cwd, 'FOLDER')
    .replaceAll(/[ \r]+$/gm, '')
    .trimEnd();
  return { ...done, mistake, text: until === undefined ? text : lastWords(text, mistake.says) };
}

/** The line that matters and those of the end, with what differs each time as `N` and `TIME`. */
function lastWords(text: string, says: string): string {
  return text
    .split('\n')
    .filter((line) => line.includes(says) || /^(Interrupted|The same command carries on)/.test(line))
    .join('\n')
    .replaceAll(/[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z/g, 'TIME')
    .replaceAll(/\([0-9]+ s\)/g, '(N s)')
    .replaceAll(/[0-9]+ of 40 rows/g, 'N of 40 rows');
}

test('each mistake ends with its exit code and says what was wrong', () => {
  const wrong = ended.filter(({ mistake, code, text }) => code !== mistake.code || !text.includes(mistake.says));
  expect(wrong.map(({ mistake, code, text }) => [mistake.mistake, code, text])).toEqual([]);
});

test('no mistake is answered with a stack trace or called a defect', () => {
  expect(ended.filter(({ text }) => /^ {4}at |defect of payrun/m.test(text)).map(({ text }) => text)).toEqual([]);
});

test('docs/mistakes.md shows what is shown', () => {
  const rows = ended.map(({ mistake, code, text }, index) => {
    const lines = text.split('\n');
    const shown = [...lines.slice(0, LINES_SHOWN_MAX), ...(lines.length > LINES_SHOWN_MAX ? ['…'] : [])];
    const cells = [
      index + 1,
      mistake.mistake,
      `\`${`payrun ${mistake.command}`.trim()}\``,
      code,
      shown.map(inCell).join('<br>'),
    ];
    return `| ${cells.join(' | ')} |`;
  });
  const page = `${HEAD}${rows.join('\n')}\n${TAIL}`;
  if (process.env['UPDATE_DOCS'] !== undefined) writeFileSync(PAGE, page);
  expect(readFileSync(PAGE, 'utf8')).toBe(page);
});

function inCell(line: string): string {
  return line.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('|', '\\|');
}
