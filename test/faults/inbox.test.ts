import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect } from 'vitest';
import { z } from 'zod';
import type { Rig } from './rig.ts';
import { faultRow } from './row.ts';

/** The drop folder (faults.md, F58). */

const PIECE_MS = 400;

const ackShape = z.object({ runId: z.string(), duplicate: z.boolean() });

function below(rig: Rig, ...path: string[]): string {
  return join(rig.folder, 'drop', ...path);
}

function names(rig: Rig, folder: string): string[] {
  return existsSync(below(rig, folder)) ? readdirSync(below(rig, folder)) : [];
}

function watch(rig: Rig, name: string): ReturnType<Rig['launch']> {
  return rig.launch(name, ['inbox', below(rig), '--as', 'clerk']);
}

/** In pieces, with pauses that are shorter than what counts as complete. */
async function writeSlowly(path: string, text: string): Promise<void> {
  const half = Math.floor(text.length / 2);
  writeFileSync(path, text.slice(0, half));
  for (let at = half; at < text.length; at += half) {
    await delay(PIECE_MS);
    appendFileSync(path, text.slice(at, at + half));
  }
}

faultRow({
  ids: ['F58'],
  fault:
    'files in a drop folder grow, are renamed, replaced and taken away under two watchers, one of which is killed with -9 with a claim in its hands',
  tries: { short: 1, long: 2 },
  async body(rig) {
    mkdirSync(below(rig, 'in'), { recursive: true });
    await rig.startWorker('one');
    const watchers = ['two', 'three'].map((name) => watch(rig, name));
    writeFileSync(below(rig, 'in', 'gone.csv'), 'reference\n');
    await writeSlowly(below(rig, 'in', 'payouts.csv.part'), rig.file);
    unlinkSync(below(rig, 'in', 'gone.csv'));
    writeFileSync(below(rig, 'in', 'payouts.csv'), rig.file.slice(0, rig.file.length / 3));
    renameSync(below(rig, 'in', 'payouts.csv.part'), below(rig, 'in', 'payouts.csv'));
    await writeSlowly(below(rig, 'in', 'grown.csv'), rig.file);
    await rig.until('a claim', () => names(rig, 'claimed').some((name) => !name.startsWith('.')));
    watchers[0]?.kill('SIGKILL');
    watch(rig, 'two');
    await rig.until(
      'both answers',
      () => names(rig, 'reports').filter((name) => name.endsWith('.ack.json')).length >= 2,
    );
    // The same content is the same run, whichever way it comes.
    await rig.submit();
  },
  async after(rig) {
    const answers = names(rig, 'reports').filter((name) => /\.n?ack\.json$/.test(name));
    expect(answers.toSorted()).toEqual(['grown.csv.ack.json', 'payouts.csv.ack.json']);
    const acks = answers.map((name) => ackShape.parse(JSON.parse(readFileSync(below(rig, 'reports', name), 'utf8'))));
    expect(new Set(acks.map(({ runId }) => runId))).toEqual(new Set([rig.runs[0]?.runId]));
    expect(acks.filter(({ duplicate }) => !duplicate)).toHaveLength(1);
    expect(names(rig, 'in')).toEqual([]);
    expect(names(rig, 'done').toSorted()).toEqual(['grown.csv', 'payouts.csv']);
  },
});
