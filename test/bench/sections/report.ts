import { join } from 'node:path';
import { type Round, ratioFigure } from '../figures.ts';
import type { ReportKind, ReportTaken } from '../report-task.ts';
import { openRig, type Rig } from '../rig.ts';
import type { Section } from '../section.ts';

/** Writing the CSV report, against csv-stringify alone. */
export const report: Section = {
  name: 'report',
  title: 'Report',
  async measure({ pick, rounds, say }) {
    const rig = await openRig();
    try {
      const rows = pick(5000, 100_000);
      const worker = await rig.worker();
      const runId = await rig.submit(await rig.file('report', rows));
      await rig.service.paid(rows);
      await rig.finished(runId);
      await worker.kill('SIGTERM');
      const written = join(rig.folder, 'data/reports', `${runId}.v1.csv`);
      const streamed: Round[] = [];
      const batched: Round[] = [];
      for (let round = 1; round <= rounds; round++) {
        const ours = await rowsPerSecond(rig, 'report', runId);
        streamed.push({ ours, limit: await rowsPerSecond(rig, 'stringify', written) });
        batched.push({ ours, limit: await rowsPerSecond(rig, 'stringify-now', written) });
        say(`round ${round}: ${Math.round(ours)} of ${Math.round(streamed.at(-1)?.limit ?? 0)} rows/s`);
      }
      const about = { name: 'from the ledger to a CSV file', unit: 'rows/s' };
      return {
        figures: [
          ratioFigure(
            { ...about, limit: 'csv-stringify, its stream', target: { by: 'ratio', atLeast: 0.6 } },
            streamed,
          ),
          ratioFigure(
            { ...about, name: 'the same', limit: 'csv-stringify, its function on 500 rows at a time' },
            batched,
          ),
        ],
        notes: [
          `${rows} paid rows of 23 columns. csv-stringify is given the same cells from memory; ours reads them from Redis. Each writing in a process of its own, without its start, to a file that is synced.`,
        ],
      };
    } finally {
      await rig.close();
    }
  },
};

async function rowsPerSecond(rig: Rig, kind: ReportKind, from: string): Promise<number> {
  const words = [kind, from, join(rig.folder, `${kind}.csv`)];
  const { rows, ms } = await rig.child('report-task', words, rig.env()).told<ReportTaken>();
  return (rows * 1000) / ms;
}
