import { readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeAll, expect, test } from 'vitest';
import { usePayrun } from './payrun.ts';

const payrun = usePayrun();
beforeAll(() => {
  writeFileSync(join(payrun.dir, 'load.mjs'), LOAD);
  writeFileSync(join(payrun.dir, 'note.mjs'), NOTE);
});

const NOTE = "import { register } from 'node:module';\nregister('./load.mjs', import.meta.url);\n";
/** A hook of Node's loader: notes the address of each module. */
const LOAD = `import { appendFileSync } from 'node:fs';
export async function load(url, context, next) {
  appendFileSync(new URL('loaded', import.meta.url), url + '\\n');
  return await next(url, context);
}
`;

/** Packages that take long to load, or bring many others. */
const LARGE = ['bullmq', 'commander', 'csv-stringify', 'fastify', 'ioredis', 'pino', 'undici', 'yazl', 'zod'];
/** Reads a payout file, writes a report, pays, or serves. */
const NOT_FOR_A_LOOK =
  /^src\/(intake\/(check-file$|read-file$|row\/|csv\/)|report\/(files$|csv$|xlsx)|pay\/pay-payout$|service\/client$|web\/|sandbox\/)/;

/** What a command loads: names of packages, and our own files by their path in the build, without their ending. */
async function loadedBy(words: readonly string[]): Promise<{ packages: string[]; files: string[] }> {
  const noted = join(payrun.dir, 'loaded');
  writeFileSync(noted, '');
  await payrun.start(words, { NODE_OPTIONS: `--import=${pathToFileURL(join(payrun.dir, 'note.mjs')).href}` }).ended;
  const urls = readFileSync(noted, 'utf8').split('\n');
  const names = (pattern: RegExp): string[] =>
    [...new Set(urls.flatMap((url) => pattern.exec(url)?.[1] ?? []))].toSorted();
  return {
    packages: names(/^file:.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//),
    files: names(/^file:(?!.*\/node_modules\/).*?\/((?:src|jobs)\/[^.]+)\.js$/),
  };
}

test.each([[['--version']], [['--help']], [['help', 'exit-codes']], [['nothing']]])(
  '%j loads commander alone, and none of what commands do',
  async (words) => {
    const { packages, files } = await loadedBy(words);
    expect(packages).toEqual(['commander']);
    expect(files.filter((file) => /^jobs|^src\/(app|ledger|redis|runs|service|web)\b/.test(file))).toEqual([]);
    expect(files.length).toBeLessThanOrEqual(16);
  },
);

test.each(['list', 'status'])(
  '%s loads what reads the ledger, and nothing that reads files, reports, pays or serves',
  async (command) => {
    const { packages, files } = await loadedBy([command, '20260131-k3f9xq']);
    expect(packages.filter((name) => LARGE.includes(name))).toEqual(['commander', 'ioredis', 'pino', 'zod']);
    expect(files).toContain('src/ledger/ledger');
    expect(files.filter((file) => NOT_FOR_A_LOOK.test(file))).toEqual([]);
  },
);

test('validate loads no connection to a ledger or a service', async () => {
  const { packages, files } = await loadedBy(['validate', resolve('samples/small.csv')]);
  expect(packages.filter((name) => LARGE.includes(name))).toEqual(['commander', 'yazl', 'zod']);
  expect(files.filter((file) => /^jobs|^src\/(app$|ledger\/ledger$|redis|service|web)\b/.test(file))).toEqual([]);
});
