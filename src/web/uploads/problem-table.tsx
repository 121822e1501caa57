import type { Review } from './review.ts';

type FileProblem = Review['problems'][number];

/** What is wrong with a file, or odd about it, and how to mend it. */
export function ProblemTable({ caption, problems }: { caption: string; problems: readonly FileProblem[] }) {
  return (
    <div class="scroll">
      <table class="problems">
        <caption>{caption}</caption>
        <thead>
          <tr>
            <th scope="col" class="number">
              Line
            </th>
            <th scope="col">Column</th>
            <th scope="col">Value</th>
            <th scope="col">What is wrong</th>
            <th scope="col">What to do</th>
            <th scope="col">Code</th>
          </tr>
        </thead>
        <tbody>
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
        </tbody>
      </table>
    </div>
  );
}
