import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, inject, test } from 'vitest';
import { COMMANDS } from '../../src/cli/commands.ts';
import { EXIT } from '../../src/cli/exit-code.ts';
import { SETTING_NAMES } from '../../src/config/config.ts';
import { usePayrun } from './payrun.ts';

const payrun = usePayrun();

async function printed(...words: string[]): Promise<string> {
  const { code, stdout, stderr } = await payrun.run(words);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return stdout;
}

describe('help', () => {
  test('names every command under its group, without loading any', async () => {
    const help = await printed('--help');
    const headings = [...help.matchAll(/^([A-Z][a-z]+):$/gm)].map(([, heading]) => heading);
    expect(headings).toEqual(['Options', 'Pay', 'Look', 'Decide', 'Emergency', 'Serve', 'Maintain', 'Examples']);
    for (const name of Object.keys(COMMANDS)) expect(help).toMatch(new RegExp(`^  ${name} `, 'm'));
  });

  test('tells each exit code', async () => {
    const codes = [...(await printed('help', 'exit-codes')).matchAll(/^[0-9]+/gm)].map(([code]) => code);
    expect(codes).toEqual(Object.values(EXIT).map(String));
  });

  test('tells each setting with its default', async () => {
    const text = await printed('help', 'settings');
    for (const name of SETTING_NAMES) expect(text).toMatch(new RegExp(`^${name} +\\S`, 'm'));
    expect(text).toMatch(
      /^PAYRUN_ARM_DEADLINE +2s +Longest time from the start of arming to the first byte of the payment request$/m,
    );
  });

  test('tells each code of a row, and what one of them says and asks for', async () => {
    const text = await printed('help', 'codes');
    for (const code of ['E_AMOUNT', 'E_DUP_LIKELY', 'E_NOT_PROVABLE'])
      expect(text).toMatch(new RegExp(`^${code} +\\S`, 'm'));
    expect(await printed('help', 'E_DUP_LIKELY')).toMatch(
      /looks like an earlier payout\.\n.*payrun show RUN REFERENCE/,
    );
    expect(await printed('help', 'E_NEWLINE')).toMatch(/line ends.*\n.*Export the file again/);
  });

  test.each([
    ['report', 'Usage: payrun report'],
    ['sandbox credential create', 'Usage: payrun sandbox credential create'],
  ])('of %s is that of the command with --help', async (words, usage) => {
    const [help, own] = await Promise.all([
      printed('help', ...words.split(' ')),
      printed(...words.split(' '), '--help'),
    ]);
    expect(help).toBe(own);
    expect(help).toContain(usage);
  });

  test('of a group names its commands', async () => {
    const text = await printed('help', 'emergency');
    expect(text).toMatch(/^halt +\S/m);
    expect(text).not.toMatch(/^run +/m);
  });

  test('of what there is not is refused', async () => {
    expect(await payrun.run(['help', 'nothing'])).toMatchObject({ code: 2, stdout: '' });
  });
});

/** What the script of bash offers for the last of these words. */
async function offered(words: readonly string[]): Promise<string[]> {
  const script = await printed('completion', 'bash');
  const main = join(inject('built'), 'src/cli/main.js');
  const program = `payrun() { '${process.execPath}' -- '${main}' "$@"; }`;
  const line = words.join(' ');
  const asked = `COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; COMP_LINE='${line}'; COMP_POINT=${line.length}`;
  const shown = `_payrun_completion; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return execFileSync('bash', ['-c', [program, script, asked, shown].join('\n')], { encoding: 'utf8' })
    .trim()
    .split('\n');
}

describe('completion', () => {
  test.each([
    [['payrun', 'va'], ['validate']],
    [
      ['payrun', 'sandbox', 'credential', ''],
      ['create', 'revoke', 'help'],
    ],
    [['payrun', 'run', 'file.csv', '--reh'], ['--rehearse']],
    [['payrun', 'list', '20260131-k3f9xq', '--outcome', 'ret'], ['returned']],
    [['payrun', 'user', 'a'], ['add']],
    [['payrun', 'completion', 'f'], ['fish']],
  ])('in bash, %j goes on with %j', async (words, expected) => {
    expect(await offered(words)).toEqual(expected);
  });

  test('leaves files to the shell', async () => {
    expect(await offered(['payrun', 'run', 'pay'])).toEqual(['']);
  });

  test.each([
    ['fish', 'credential\tcreate'],
    ['zsh', 'credential:create'],
  ])('in %s, words have descriptions', async (shell, expected) => {
    const line = 'payrun sandbox ';
    const env = { SHELL: shell, COMP_CWORD: '3', COMP_LINE: line, COMP_POINT: String(line.length) };
    expect(await printed('completion', shell)).toContain(`SHELL=${shell} payrun completion-server`);
    expect((await payrun.run(['completion-server', '--', 'payrun', 'sandbox'], env)).stdout).toContain(expected);
  });

  test('there is none for another shell', async () => {
    expect(await payrun.run(['completion', 'tcsh'])).toMatchObject({ code: 2 });
  });
});
