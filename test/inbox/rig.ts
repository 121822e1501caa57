import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import type { Clock } from '../../src/clock.ts';
import { openFolder } from '../../src/inbox/folder.ts';
import type { InboxOptions } from '../../src/inbox/inbox.ts';
import { LEDGER_MARK } from '../../src/inbox/prepare-inbox.ts';
import { describeFault } from '../../src/inbox/retry-backoff.ts';
import type { InboxSource } from '../../src/inbox/source.ts';
import { file, line } from '../intake/payout-text.ts';

/** Short enough for tests, and long enough to be seen. */
export const STABLE_MS = 60;

export const ackSchema = z.strictObject({
  file: z.strictObject({ name: z.string(), sha256: z.string(), rows: z.int() }),
  runId: z.string(),
  duplicate: z.boolean(),
  state: z.string(),
  waits: z.strictObject({ reason: z.string(), until: z.iso.datetime().nullable() }).nullable(),
  at: z.string(),
});

export const nackSchema = z.strictObject({
  file: z.string(),
  rows: z.int(),
  valid: z.int(),
  totals: z.array(z.unknown()),
  problems: z.array(
    z.strictObject({
      code: z.string(),
      line: z.int().nullable(),
      column: z.string().nullable(),
      value: z.string().nullable(),
      message: z.string(),
      remedy: z.string(),
    }),
  ),
  problemsTotal: z.int(),
});

/** An inbox in a folder of its own. */
export interface Box {
  readonly path: string;
  readonly source: InboxSource;
  drop(name: string, content: string | Buffer): void;
  readonly at: (below: string) => string;
  /** Of the folder, without the mark of the ledger. */
  names(folder: string): string[];
  ack(as: string): z.infer<typeof ackSchema>;
  nack(as: string): z.infer<typeof nackSchema>;
  remove(): void;
}

export function openBox(): Box {
  const path = mkdtempSync(join(tmpdir(), 'payrun-inbox-'));
  const read = (below: string): unknown => JSON.parse(readFileSync(join(path, below), 'utf8'));
  return {
    path,
    source: openFolder(path),
    drop: (name, content) => writeFileSync(join(path, 'in', name), content),
    at: (below) => join(path, below),
    names: (folder) =>
      readdirSync(join(path, folder))
        .filter((name) => name !== LEDGER_MARK)
        .toSorted(),
    ack: (as) => ackSchema.parse(read(`reports/${as}.ack.json`)),
    nack: (as) => nackSchema.parse(read(`reports/${as}.nack.json`)),
    remove: () => rmSync(path, { recursive: true, force: true }),
  };
}

/** A payout file that no other call gives: its references begin with the name. */
export function payouts(name: string, rows = 2): string {
  const lines = Array.from({ length: rows }, (_, index) => index + 1);
  return file(...lines.map((number) => line({ reference: `${name}-${number}`, amount: `${100 + number}.00` })));
}

/** How tests watch; what is said is kept. */
export function watching(said: string[] = []): InboxOptions {
  return {
    actor: 'clerk',
    skipInvalid: false,
    stopping: new AbortController().signal,
    answered: () => {},
    reported: () => {},
    describe: describeFault,
    say: (text) => void said.push(text),
    stableMs: STABLE_MS,
    leaseMs: 300,
  };
}

/** A clock for a watcher that can die: from then on it never wakes. */
export function mortal(clock: Clock, isDead: () => boolean): Clock {
  return {
    ...clock,
    async sleep(ms, signal) {
      await clock.sleep(ms, signal);
      if (isDead()) await new Promise<never>(() => {});
    },
  };
}

export async function pause(ms: number): Promise<void> {
  await delay(ms);
}
