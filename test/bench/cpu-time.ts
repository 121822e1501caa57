import { readFileSync } from 'node:fs';

/** Linux counts processor time in hundredths of a second for everybody who asks (USER_HZ). */
const TICK_MS = 10;
/** `utime` and `stime` among the fields after the program's name (proc(5)). */
const USER_AT = 11;
const SYSTEM_AT = 12;

/** Processor time of a process so far, in milliseconds. */
export function cpuMsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[USER_AT]) + Number(fields[SYSTEM_AT])) * TICK_MS;
}
