import { randomUUID } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Rig } from './rig.ts';

/** Settings of a process of node that runs a script before its own main. */
export function beforeMain(rig: Rig, script: string): Record<string, string> {
  const path = join(rig.folder, `${randomUUID()}.mjs`);
  writeFileSync(path, script);
  return { NODE_OPTIONS: `--import=${path}` };
}

/**
 * Settings of a process that kills itself in its file system: `death` is a call of `before` with a call of a file handle,
 * the files' path, the how-manieth of these calls, and what is done in its place.
 */
export function diesAt(rig: Rig, death: string): Record<string, string> {
  return beforeMain(rig, `${DIES}\n${death}\n`);
}

const DIES = `
import { readlinkSync, writeSync } from 'node:fs';
import { open } from 'node:fs/promises';
const handle = await open(process.execPath);
const files = Object.getPrototypeOf(handle);
await handle.close();
function before(call, path, count, deed = () => {}) {
  const real = files[call];
  let left = count;
  files[call] = function (...args) {
    if (path.test(readlinkSync('/proc/self/fd/' + this.fd)) && --left === 0) {
      deed(this, ...args);
      process.kill(process.pid, 'SIGKILL');
    }
    return real.apply(this, args);
  };
}`;

/** Whatever the process prints meets a full disk. */
export const FULL_OUTPUT = `
import { closeSync, openSync } from 'node:fs';
for (const file of [1, 2]) {
  closeSync(file);
  openSync('/dev/full', 'w');
}
`;
