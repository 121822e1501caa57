import { PROBLEM_KINDS, type Verdict } from '../../src/intake/problems/problem-kinds.ts';

/*
 * docs/problems.md. Written anew with UPDATE_DOCS=1 npx vitest run test/intake/problem-text.test.ts
 */

const VERDICTS: Readonly<Record<Verdict, { title: string; meaning: string }>> = {
  file: {
    title: 'The whole file is refused',
    meaning:
      'The limits of rows or the totals are not reliable, so no row of it is paid, not even with `--skip-invalid`.',
  },
  row: {
    title: 'The row is refused',
    meaning: 'Nothing of the file is paid, unless `--skip-invalid` pays the valid rows; the report shows the others.',
  },
  warning: { title: 'Only a warning', meaning: 'The value is used as it is.' },
};

const HEAD = `# What can be wrong with a payout file

\`payrun validate FILE\` shows all of it at once and touches nothing. It shows the text of at most 1,000 problems, and counts all of them. Each has a code that
never changes, the line where the row begins, the column, the value (identity ids and what looks like an account number only by their last four
characters) and how to fix it. \`--json\` gives the same as JSON. \`--marked-up PATH\` writes the file again with two more columns, the codes and how to
fix them: correct that file and hand it in.

payrun guesses nothing: no delimiter, no encoding, no decimal mark, and it removes no blanks. Braces below stand for what was found.
`;

/** The text of docs/problems.md: each code with its message and its remedy, by what it does. */
export function makeProblemTable(): string {
  const kinds = Object.entries(PROBLEM_KINDS);
  const sections = Object.entries(VERDICTS).map(([verdict, { title, meaning }]) => {
    const rows = kinds.filter(([, kind]) => kind.verdict === verdict).toSorted(([a], [b]) => (a < b ? -1 : 1));
    const lines = rows.map(([code, { message, remedy }]) => `| \`${code}\` | ${cell(message)} | ${cell(remedy)} |`);
    return [`\n## ${title}\n`, `${meaning}\n`, '| code | what is wrong | how to fix it |', '|---|---|---|', ...lines];
  });
  return `${[HEAD.trimEnd(), ...sections.flat()].join('\n')}\n`;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll(/[{}]/g, (brace) => (brace === '{' ? '*{' : '}*'));
}
