import type { Ledger } from '../../ledger/ledger.ts';

const RUNS_AT_ONCE = 50;

/**
 * What the audit log has to tell, by what the ledger holds: each run whose seal is true was sealed by a process that had the
 * ledger's key, after it had written the entry of who handed the run in.
 */
export async function runsForAudit({ runs, seals, audit }: Pick<Ledger, 'runs' | 'seals' | 'audit'>): Promise<{
  readonly hasRuns: boolean;
  readonly sealedRuns: ReadonlySet<string>;
}> {
  const ids = await runs.list();
  const sealedRuns = new Set<string>();
  for (let at = 0; audit.keys !== undefined && at < ids.length; at += RUNS_AT_ONCE) {
    const some = await Promise.all(ids.slice(at, at + RUNS_AT_ONCE).map((id) => runs.read(id)));
    for (const run of some) if (run !== undefined && seals.judgeRun(run) === 'true') sealedRuns.add(run.id);
  }
  return { hasRuns: ids.length > 0, sealedRuns };
}
