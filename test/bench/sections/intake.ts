import { type Round, ratioFigure } from '../figures.ts';
import type { IntakeKind, IntakeTaken } from '../intake-task.ts';
import { openRig, type Rig } from '../rig.ts';
import type { Section } from '../section.ts';

/** Reading a payout file, against csv-parse alone on the same file. */
export const intake: Section = {
  name: 'intake',
  title: 'Intake',
  async measure({ pick, rounds, say }) {
    const rig = await openRig();
    try {
      const rows = pick(20_000, 300_000);
      const validated: Round[] = [];
      const recorded: Round[] = [];
      for (let round = 1; round <= rounds; round++) {
        const path = await rig.file(`intake-${round}`, rows);
        const limit = await rowsPerSecond(rig, 'parse', path);
        validated.push({ limit, ours: await rowsPerSecond(rig, 'validate', path) });
        recorded.push({ limit, ours: await rowsPerSecond(rig, 'record', path) });
        const found = [limit, validated.at(-1)?.ours ?? 0, recorded.at(-1)?.ours ?? 0];
        say(`round ${round}: csv-parse, validating, and recording: ${found.map(Math.round).join(', ')} rows/s`);
      }
      const about = { unit: 'rows/s', limit: 'csv-parse alone' };
      return {
        figures: [
          ratioFigure({ ...about, name: 'validating' }, validated),
          ratioFigure({ ...about, name: 'validating and recording', target: { by: 'ratio', atLeast: 0.17 } }, recorded),
        ],
        notes: [
          `${rows} rows of six columns, each reading in a process of its own, without its start. csv-parse is its stream, read on \`readable\`; a file that is recorded is read twice, to check it and to record it, and once more where the service lists its identities, which it does not here.`,
        ],
      };
    } finally {
      await rig.close();
    }
  },
};

async function rowsPerSecond(rig: Rig, kind: IntakeKind, path: string): Promise<number> {
  const { rows, ms } = await rig.child('intake-task', [kind, path], rig.env()).told<IntakeTaken>();
  return (rows * 1000) / ms;
}
