import { join } from 'node:path';
import { figure, type Round, ratioFigure } from '../figures.ts';
import type { ReportKind, ReportTaken } from '../report-task.ts';
import { openRig, type Rig } from '../rig.ts';
import type { Section } from '../section.ts';

/** A workbook is streamed, however many rows it has. */
const WORKBOOK_MB_MAX = 200;
const MB = 1024 * 1024;

/** Writing the CSV report, against csv-stringify alone, and the workbook. */
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
      const workbooks: ReportTaken[] = [];
      for (let round = 1; round <= rounds; round++) {
        const ours = await rowsPerSecond(rig, 'report', runId);
        streamed.push({ ours, limit: await rowsPerSecond(rig, 'stringify', written) });
        workbooks.push(await taken(rig, 'workbook', runId));
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
          figure(
            { name: 'from the ledger to a workbook', unit: 'rows/s' },
            workbooks.map((one) => (one.rows * 1000) / one.ms),
          ),
          figure(
            { name: 'peak RSS of a workbook alone', unit: 'MB', target: { by: 'value', atMost: WORKBOOK_MB_MAX } },
            workbooks.map(({ peakBytes }) => peakBytes / MB),
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
  const { rows, ms } = await taken(rig, kind, from);
  return (rows * 1000) / ms;
}

async function taken(rig: Rig, kind: ReportKind, from: string): Promise<ReportTaken> {
  return await rig
    .child('report-task', [kind, from, join(rig.folder, `${kind}.written`)], rig.env())
    .told<ReportTaken>();
}
