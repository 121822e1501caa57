import { lookUpPayout } from '../src/pay/look-up.ts';
import type { JobPayload } from './catalog.ts';
import type { JobDeps } from './deps.ts';

/** Looks up payouts whose payment may exist. */
export async function lookUp(deps: JobDeps, { runId, lines }: JobPayload<'look-up'>): Promise<void> {
  await Promise.all(
    lines.map((line) =>
      deps.lookGate(runId, async () => {
        if (!deps.stopping.aborted) await lookUpPayout(deps.pay, { runId, line });
      }),
    ),
  );
}
