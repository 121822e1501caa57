import type { PayDeps } from './deps.ts';

/** Pauses a run for a reason that the operator is to read; a run that is not being paid stays as it is. */
export async function stopRun(
  deps: Pick<PayDeps, 'runs' | 'log'>,
  runId: string,
  why: { code: string; reason: string },
): Promise<void> {
  const { result } = await deps.runs.move(runId, {
    to: 'paused',
    actor: 'payrun',
    reason: `${why.code}: ${why.reason}`,
  });
  if (result === 'moved') deps.log.warn('the run was paused', { run: runId, code: why.code });
}
