import { openApp } from '../../src/app.ts';
import { systemClock, systemRandom } from '../../src/clock.ts';
import { readConfig } from '../../src/config/config.ts';
import { openInbox } from '../../src/inbox/inbox.ts';
import { openSource } from '../../src/inbox/open-source.ts';
import { describeFault } from '../../src/inbox/retry-backoff.ts';
import { silentLog } from '../../src/log.ts';
import { noCrash } from '../../src/pay/crash-point.ts';

/*
 * `payrun inbox DIR` with less patience: files are stable sooner and leases shorter, so that it is killed in the midst of
 * its work and not while it waits.
 */
const [dir = ''] = process.argv.slice(2);
const say = (text: string): void => void process.stderr.write(`${text}\n`);
const app = await openApp({
  config: readConfig(),
  clock: systemClock,
  random: systemRandom,
  log: silentLog,
  at: noCrash,
  report: say,
  // Nobody pays here, so nobody is to be woken.
  openJobs: () => ({ async wake() {}, workers: async () => [], async close() {} }),
});
const source = openSource(app, dir);
await source.prepare();
const inbox = openInbox(app, source, {
  actor: 'clerk',
  skipInvalid: false,
  stopping: new AbortController().signal,
  answered: () => {},
  reported: () => {},
  describe: describeFault,
  say,
  stableMs: 40,
  leaseMs: 400,
});
say('ready');
while (true) {
  await inbox.look();
  await systemClock.sleep(20);
}
