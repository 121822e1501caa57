import { expect, test } from 'vitest';
import { finishRun } from '../../src/runs/after/finish.ts';
import { endStage } from '../../src/runs/after/stage.ts';
import { readRun } from '../../src/runs/read-run.ts';
import { fileOf, useHandIns } from './hand-in-desk.ts';

const desk = useHandIns();

test('a stage of which a person has cancelled every payout does not go on by itself "if all was paid"', async () => {
  const { app } = desk;
  const { id } = await desk.submit(fileOf(8), { stages: { sizes: '2,3,rest', goesOnIfPaid: true } });
  for (const reference of ['S-0', 'S-1']) await desk.cancelRow(app.ledger, id, reference);
  await finishRun(app.ledger, id);
  await endStage(app.ledger, await readRun(app, id));
  expect(await readRun(app, id)).toMatchObject({ state: 'paused', stages: { at: 0, isOver: true } });
});
