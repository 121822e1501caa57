import { mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../clock.ts';
import { codeOf } from '../../refusal.ts';

/** So much must be free again: more than the lines of all payouts that are armed at a time. */
const TRIAL_BYTES = 64 * 1024;
const TRIED_AGAIN_MS = 1000;

/** Why lines cannot be written; without a code the disk took a part of them. */
export interface RoomFault {
  /** Milliseconds since 1970. */
  readonly since: number;
  readonly code: string | undefined;
}

/** Whether the disk takes intent lines: once it did not take one, nothing is armed before it has taken a trial. */
export interface IntentRoom {
  readonly folder: string;
  lost(cause: unknown): void;
  /** Tries the disk again where it is due. */
  isThere(): Promise<boolean>;
  fault(): RoomFault | undefined;
}

export function openIntentRoom(folder: string, clock: Clock): IntentRoom {
  let fault: RoomFault | undefined;
  let triedAt = Number.NEGATIVE_INFINITY;
  let trying: Promise<void> | undefined;

  async function tryDisk(): Promise<void> {
    triedAt = clock.monotonic();
    try {
      await writeTrial(folder);
      fault = undefined;
    } catch {
      // As it was.
    }
    trying = undefined;
  }

  return {
    folder,
    lost(cause) {
      fault ??= { since: clock.now(), code: codeOf(cause) };
    },
    async isThere() {
      if (fault === undefined) return true;
      if (trying === undefined && clock.monotonic() - triedAt >= TRIED_AGAIN_MS) trying = tryDisk();
      await trying;
      return fault === undefined;
    },
    fault: () => fault,
  };
}

/** It is no log, so nobody reads it. */
async function writeTrial(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, `.room-${process.pid}`);
  try {
    const file = await open(path, 'w', 0o600);
    try {
      await file.writeFile(Buffer.alloc(TRIAL_BYTES));
      await file.sync();
    } finally {
      await file.close();
    }
  } finally {
    await rm(path, { force: true });
  }
}
