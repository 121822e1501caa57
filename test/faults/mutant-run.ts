import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../support/payrun-processes.ts';
import type { Edit, NamedTest } from './mutation.ts';

/** Rows of the matrix are run as the matrix is, and all other tests as `npm test` runs them. */
const CONFIGS = ['vitest.config.ts', 'vitest.faults.config.ts'] as const;
const COPIED = ['.ci', 'src', 'jobs', 'test', 'package.json', 'tsconfig.json', 'tsconfig.build.json', ...CONFIGS];
const LINKED = ['node_modules', 'samples'];
/** Of one run of vitest on the copy. */
const RUN_MS_MAX = 8 * 60_000;
const OUTPUT_BYTES_MAX = 64 * 1024 * 1024;

/** How one test ended: `assertion` when it failed because something was not as it should be, `error` on any other failure. */
export interface Ended {
  readonly how: 'passed' | 'assertion' | 'error' | 'not run';
  /** What the failure said. */
  readonly said: string;
}

/** A copy of payrun's source and tests in which one thing at a time is another. */
export interface Mutant {
  /** Runs these tests of the copy, with some text of its source replaced meanwhile; how each of them ended, in their order. */
  run(tests: readonly NamedTest[], edits: readonly Edit[]): Promise<Ended[]>;
  remove(): void;
}

export function copyPayrun(): Mutant {
  // Inside the repository and with its own `node_modules`, so that the copy finds what it needs by itself.
  const folder = mkdtempSync(join(ROOT, '.tmp-mutant-'));
  for (const name of COPIED) cpSync(join(ROOT, name), join(folder, name), { recursive: true });
  for (const name of LINKED) symlinkSync(join(ROOT, name), join(folder, name));
  return {
    async run(tests, edits) {
      const before = new Map(edits.map(({ file }) => [file, readFileSync(join(folder, file), 'utf8')]));
      try {
        for (const edit of edits) apply(folder, edit);
        return await endedIn(folder, tests);
      } finally {
        for (const [file, text] of before) writeFileSync(join(folder, file), text);
      }
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Throws when the text is not there exactly once: a mutation that changes nothing, or something else, proves nothing. */
function apply(folder: string, { file, text, by }: Edit): void {
  const parts = readFileSync(join(folder, file), 'utf8').split(text);
  if (parts.length !== 2) throw new Error(`${file} has ${parts.length - 1} times, not once: ${text}`);
  writeFileSync(join(folder, file), parts.join(by));
}

interface JsonTest {
  readonly fullName: string;
  readonly status: string;
  readonly failureMessages: readonly string[];
}

interface JsonReport {
  readonly testResults: readonly { readonly name: string; readonly assertionResults: readonly JsonTest[] }[];
}

function configOf({ file }: NamedTest): string {
  return CONFIGS[file.startsWith('test/faults/') ? 1 : 0];
}

async function endedIn(folder: string, tests: readonly NamedTest[]): Promise<Ended[]> {
  const ended = new Map<NamedTest, Ended>();
  for (const config of CONFIGS) {
    const part = tests.filter((test) => configOf(test) === config);
    const ends = part.length === 0 ? [] : await endedWith(config, folder, part);
    for (const [index, test] of part.entries()) ended.set(test, ends[index] ?? { how: 'not run', said: '' });
  }
  return tests.map((test) => ended.get(test) ?? { how: 'not run', said: '' });
}

async function endedWith(config: string, folder: string, tests: readonly NamedTest[]): Promise<Ended[]> {
  const output = join(folder, 'result.json');
  rmSync(output, { force: true });
  const pattern = tests.map(({ name }) => name.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('|');
  const files = [...new Set(tests.map(({ file }) => file))];
  const words = [
    'run',
    '--root',
    folder,
    '--config',
    join(folder, config),
    '--reporter=json',
    `--outputFile=${output}`,
    '-t',
    `^(?:${pattern})$`,
  ];
  const said = await vitest([...words, ...files], environment(files));
  const { testResults } = readReport(output, said);
  return tests.map(({ file, name }) => {
    const own = testResults.filter((result) => result.name === join(folder, file));
    return endedOf(own.flatMap(({ assertionResults }) => assertionResults.filter(({ fullName }) => fullName === name)));
  });
}

/** What a test throws that expected a rejection or a Refusal is not called AssertionError, but is one all the same. */
const ASSERTION = /^(?:AssertionError|Error: (?:promise resolved .* instead of rejecting|no refusal but ))/;

function endedOf([found, ...others]: readonly JsonTest[]): Ended {
  const said = found?.failureMessages.join('\n') ?? '';
  if (found === undefined || others.length > 0) return { how: 'not run', said };
  if (found.status === 'passed') return { how: 'passed', said };
  if (found.status !== 'failed') return { how: 'not run', said };
  return { how: found.failureMessages.some((message) => ASSERTION.test(message)) ? 'assertion' : 'error', said };
}

function readReport(output: string, said: string): JsonReport {
  try {
    return JSON.parse(readFileSync(output, 'utf8')) as JsonReport;
  } catch (cause) {
    throw new Error(`vitest gave no result:\n${said}`, { cause });
  }
}

/** Tests in which processes of payrun's own run what is compiled: rows of the matrix, and what hands a file in, which a reader reads. */
const COMPILED = [
  'test/faults/',
  'test/restore/',
  'test/runs/accepted-rows',
  'test/runs/allowed-',
  'test/runs/cancelled-rows',
  'test/runs/carried-on',
  'test/runs/found-',
  'test/runs/key-of-a-stub',
  'test/runs/late-quote-reference',
  'test/runs/frozen-approval',
  'test/runs/paused-',
  'test/runs/remembered',
  'test/runs/stages',
  'test/runs/start-clock',
  'test/runs/stops-',
  'test/web/settle',
];

/** Every run has the same seed. For tests that do not need the compiled source it is left out. */
function environment(files: readonly string[]): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !/^(?:VITEST|FAULTS_|NODE_ENV$|NODE_OPTIONS$)/.test(name));
  const needsBuild = files.some((file) => COMPILED.some((start) => file.startsWith(start)));
  return { ...Object.fromEntries(own), FAULTS_SEED: '1', ...(needsBuild ? {} : { FAULTS_BUILT: 'none' }) };
}

function vitest(words: readonly string[], env: NodeJS.ProcessEnv): Promise<string> {
  const main = join(ROOT, 'node_modules/vitest/vitest.mjs');
  const options = { env, timeout: RUN_MS_MAX, maxBuffer: OUTPUT_BYTES_MAX };
  return new Promise((resolve) => {
    // It ends with 1 when a test fails, which is what is hoped for: the report tells.
    execFile(process.execPath, [main, ...words], options, (_error, stdout, stderr) => resolve(`${stdout}${stderr}`));
  });
}
