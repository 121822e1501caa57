import type { Problem } from '../problem.ts';

/** What could not be done, what to do about it, and how to name it to whoever runs payrun. */
export function ProblemPage({ problem, requestId }: { problem: Problem; requestId: string }) {
  return (
    <section class="problem" role="alert">
      <p>{problem.message}</p>
      <p>{problem.remedy}</p>
      <p>
        <small>Request {requestId}</small>
      </p>
      <p>
        <a href="/runs">To the runs</a>
      </p>
    </section>
  );
}
