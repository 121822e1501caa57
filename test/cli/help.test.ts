import { execFileSync } from 'node:child_process';
import { describe, expect, test } from 'vitest';
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

  test('of what there is not is refused', async () => {
    expect(await payrun.run(['help', 'nothing'])).toMatchObject({ code: 2, stdout: '' });
  });
});

describe('completion', () => {
  test.each([
    [['payrun', 'va'], ['validate']],
    [
      ['payrun', 'sandbox', 'credential', ''],
      ['create', 'revoke', '--help'],
    ],
    [['payrun', 'run', 'file.csv', '--reh'], ['--rehearse']],
    [['payrun', 'user', 'a'], ['add']],
  ])('in bash, %j goes on with %j', async (words, offered) => {
    const script = await printed('completion', 'bash');
    const quoted = words.map((word) => `'${word}'`).join(' ');
    const ask = `COMP_WORDS=(${quoted}); COMP_CWORD=${words.length - 1}; _payrun; printf '%s\\n' "\${COMPREPLY[@]}"`;
    const text = execFileSync('bash', ['-c', `${script}\n${ask}`], { encoding: 'utf8' });
    expect(text.trim().split('\n')).toEqual(offered);
  });

  test('fish and zsh have scripts of their own, and no other shell has one', async () => {
    expect(await printed('completion', 'fish')).toContain(
      "complete -c payrun -n '__fish_seen_subcommand_from sandbox; and __fish_seen_subcommand_from credential' -f -a create",
    );
    expect(await printed('completion', 'zsh')).toMatch(/^#compdef payrun\n/);
    expect(await payrun.run(['completion', 'tcsh'])).toMatchObject({ code: 2 });
  });
});
