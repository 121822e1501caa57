import type { Problem } from '../problem.ts';

/** What a page says above a problem; programs get the names of the statuses. */
const TITLES: Readonly<Record<number, string>> = {
  401: 'Please sign in',
  403: 'Not allowed',
  404: 'Not found',
  409: 'Not possible now',
  413: 'Too large',
  422: 'Not accepted',
  429: 'Too many at once',
  500: 'Something went wrong',
  503: 'Not available now',
};

export function problemTitle({ status }: Pick<Problem, 'status'>): string {
  return TITLES[status] ?? 'Not understood';
}

interface ProblemProps {
  readonly problem: Problem;
  readonly requestId: string;
  /** The page whose form was sent, where it is known. */
  readonly from: string | undefined;
}

/** What could not be done, what to do about it, and how to name it to whoever runs payrun. */
export function ProblemPage({ problem, requestId, from }: ProblemProps) {
  return (
    <section class="problem" role="alert">
      <p>{problem.message}</p>
      <p>{problem.remedy}</p>
      <p>
        <small>Request {requestId}</small>
      </p>
      <p>
        {from === undefined ? null : (
          <>
            <a href={from}>Back to the form</a> ·{' '}
          </>
        )}
        {problem.status === 401 ? <a href="/sign-in">Sign in</a> : <a href="/runs">To the runs</a>}
      </p>
    </section>
  );
}
