import { shownCount } from '../parts/figures.ts';
import { Table } from '../parts/table.tsx';
import type { Review } from './review.ts';

type FileProblem = Omit<Review['problems'][number], 'code'> & { readonly code: string };

/** Problems that are shown one by one; all of them are in the files. */
const SHOWN_MAX = 25;

/** All that is wrong with a file; where that is much, equal problems together, and the first ones in a fold. */
export function Problems({ id, review }: { id: string; review: Review }) {
  const { problems, problemsTotal, groups, warnings, hasMarkedUpCopy } = review;
  if (problemsTotal === 0 && warnings.length === 0) return null;
  const isLong = problemsTotal > SHOWN_MAX && groups.length > 0;
  const shown = problems.slice(0, SHOWN_MAX);
  const left = shown.length < problemsTotal ? `, the first ${shownCount(shown.length)} shown` : '';
  const table = shown.length === 0 ? null : <ProblemTable caption="What is wrong" problems={shown} />;
  return (
    <section aria-labelledby="problems">
      <h2 id="problems">Problems</h2>
      <p>
        {shownCount(problemsTotal)} {problemsTotal === 1 ? 'problem' : 'problems'}
        {left}. <a href={`/uploads/${id}/problems.csv`}>As CSV</a>,{' '}
        <a href={`/uploads/${id}/problems.xlsx`}>as a workbook</a>{' '}
        {hasMarkedUpCopy ? (
          <a href={`/uploads/${id}/marked-up.csv`}>The file with its problems in two more columns</a>
        ) : null}
      </p>
      {isLong ? (
        <>
          <GroupTable groups={groups} />
          <details>
            <summary>One by one</summary>
            {table}
          </details>
        </>
      ) : (
        table
      )}
      {warnings.length === 0 ? null : (
        <ProblemTable caption="What is odd, and no reason to refuse" problems={warnings.slice(0, SHOWN_MAX)} />
      )}
    </section>
  );
}

function GroupTable({ groups }: Pick<Review, 'groups'>) {
  return (
    <Table
      caption="Equal problems together"
      columns={[{ number: 'Rows' }, 'Column', 'What is wrong', 'What to do', 'First', 'Code']}
      class="problems"
    >
      {groups.map(({ count, first: { code, line, column, value, message, remedy } }) => (
        <tr key={`${code} ${column}`}>
          <td class="number">{line === null ? 'file' : shownCount(count)}</td>
          <td>{column}</td>
          <th scope="row">{message}</th>
          <td>{remedy}</td>
          <td>
            {line === null ? null : `line ${line} `}
            {value === null || value === '' ? null : <code>{value}</code>}
          </td>
          <td>
            <code>{code}</code>
          </td>
        </tr>
      ))}
    </Table>
  );
}

/** Problems one by one, each with its remedy. */
export function ProblemTable({ caption, problems }: { caption: string; problems: readonly FileProblem[] }) {
  return (
    <Table
      caption={caption}
      columns={[{ number: 'Line' }, 'Column', 'Value', 'What is wrong', 'What to do', 'Code']}
      class="problems"
    >
      {problems.map(({ code, line, column, value, message, remedy }) => (
        <tr key={`${line} ${column} ${code} ${value}`}>
          <td class="number">{line ?? 'file'}</td>
          <td>{column}</td>
          <td>{value === null || value === '' ? null : <code>{value}</code>}</td>
          <td>{message}</td>
          <td>{remedy}</td>
          <td>
            <code>{code}</code>
          </td>
        </tr>
      ))}
    </Table>
  );
}
