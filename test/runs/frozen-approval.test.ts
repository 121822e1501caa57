import { describe, expect, test } from 'vitest';
import { endStage } from '../../src/runs/after/stage.ts';
import { type ApproveDeps, approveRun } from '../../src/runs/decide/approve.ts';
import { pauseRun } from '../../src/runs/decide/control.ts';
import { readRun } from '../../src/runs/read-run.ts';
import { FILE, useHandIns } from './hand-in-desk.ts';
import { armPayout, movePayout } from './recorded-run.ts';

const desk = useHandIns();
const RULES = { name: 'one', tiers: null, holdsMs: 3_600_000 };

/** Bob approves a run, and his process stands still right before it lets the run go; `meanwhile` he does it again from another terminal. */
async function approveFrozen(
  { id, fileSha256 }: { id: string; fileSha256: string },
  meanwhile: () => Promise<unknown>,
): Promise<void> {
  const { app } = desk;
  const deps: ApproveDeps = { ...app, config: { ...app.config, approval: RULES } };
  const asked = { actor: 'bob', sha256: fileSha256 };
  let isFrozen = false;
  const runs: typeof app.ledger.runs = {
    ...app.ledger.runs,
    async move(runId, move) {
      if (!isFrozen) {
        isFrozen = true;
        await approveRun(deps, id, asked);
        await meanwhile();
      }
      return await app.ledger.runs.move(runId, move);
    },
  };
  await approveRun({ ...deps, ledger: { ...app.ledger, runs } }, id, asked);
}

describe('an approval that was frozen right before it let its run go', () => {
  test('does not let a run go that a person has paused since', async () => {
    const { app } = desk;
    const run = await desk.submit(FILE, { deps: { ...app, config: { ...app.config, approval: RULES } } });
    expect(run.state).toBe('awaiting-approval');
    await approveFrozen(run, () => pauseRun(app, run.id, { actor: 'carol', reason: 'wrong amounts' }));
    expect((await readRun(app, run.id)).state).toBe('paused');
  });

  test('releases no stage that nobody has released', async () => {
    const { app } = desk;
    const stages = { sizes: '2,rest', goesOnIfPaid: false };
    const run = await desk.submit(FILE, { stages, deps: { ...app, config: { ...app.config, approval: RULES } } });
    await approveFrozen(run, async () => {
      for (const line of [2, 3]) {
        await armPayout(app.ledger, { runId: run.id, line }, `quote-${run.id}-${line}`);
        await movePayout(app.ledger, { runId: run.id, line }, 'accepted', 'completed');
      }
      await endStage(app.ledger, await readRun(app, run.id));
    });
    expect(await readRun(app, run.id)).toMatchObject({ state: 'paused', stages: { at: 0 } });
  });
});
