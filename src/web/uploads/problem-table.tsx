import { Table } from '../parts/table.tsx';
import type { Review } from './review.ts';

type FileProblem = Omit<Review['problems'][number], 'code'> & { readonly code: string };

/** What is wrong with a file, or odd about it, and how to mend it. */
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
