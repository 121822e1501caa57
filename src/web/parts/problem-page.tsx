import { wordsForPages } from '../page-words.ts';
import type { Problem } from '../problem.ts';

/** What could not be done, what to do about it, and how to name it to whoever runs payrun. */
export function ProblemPage({ problem, requestId }: { problem: Problem; requestId: string }) {
  return (
    <section class="problem" role="alert">
      <p>{wordsForPages(problem.message)}</p>
      <p>{wordsForPages(problem.remedy)}</p>
      <p>
        <small>Request {requestId}</small>
      </p>
      <p>
        <a href="/runs">To the runs</a>
      </p>
    </section>
  );
}
