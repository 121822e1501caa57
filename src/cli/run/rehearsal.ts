import { join } from 'node:path';
import type { Clock, Random } from '../../clock.ts';
import type { Config } from '../../config/config.ts';
import { noNotifications } from '../../config/notify.ts';
import { Refusal } from '../../refusal.ts';
import { REHEARSALS, type RehearsalName } from '../../sandbox/faults/rehearsals.ts';
import { openSwitches } from '../../sandbox/faults/switch-journal.ts';
import { textsOfSwitches } from '../../sandbox/faults/switch-text.ts';
import { openTenant } from '../../sandbox/tenant.ts';
import { SANDBOX_FOLDER } from '../serve/sandbox-service.ts';

/** Answers are not waited for longer, so that a rehearsal ends soon. */
const REQUEST_TIMEOUT_MS_MAX = 3000;

/** Which mix of faults a file is rehearsed under, and the seed that they are drawn from. */
export interface RehearsalChoice {
  readonly name: RehearsalName;
  readonly seed: number;
}

/**
 * The settings of a rehearsal: a data directory and a Redis of its own, so that it neither meets nor blocks the real run
 * of the same file. Throws a Refusal (exit 2) when a service is configured.
 */
export function rehearsalSettings(config: Config, { name, seed }: RehearsalChoice): Config {
  if (config.service !== undefined) {
    throw new Refusal(
      `A rehearsal pays nobody, but the payments service ${config.service.url} is configured.`,
      'Unset the five service settings (see docs/settings.md) to rehearse with the simulated service.',
    );
  }
  const dataDir = join(config.dataDir, 'rehearsals', `${name}-${seed}`);
  const requestTimeoutMs = Math.min(config.requestTimeoutMs, REQUEST_TIMEOUT_MS_MAX);
  return {
    ...config,
    redisUrl: undefined,
    dataDir,
    reportDir: join(dataDir, 'reports'),
    requestTimeoutMs,
    notify: noNotifications,
  };
}

/** Sets the switches of the sandbox that a rehearsal will start in its data directory. */
export async function prepareRehearsal(
  dataDir: string,
  { name, seed }: RehearsalChoice,
  { clock, random }: { clock: Clock; random: Random },
): Promise<void> {
  const folder = join(dataDir, SANDBOX_FOLDER);
  await openTenant(folder, random);
  const switches = await openSwitches(folder, clock);
  try {
    await switches.write({
      fromDefaults: true,
      set: textsOfSwitches({ ...REHEARSALS[name].switches, faultSeed: seed }),
    });
  } finally {
    await switches.close();
  }
}

/** Names a rehearsal for people. */
export function rehearsalText({ name, seed }: RehearsalChoice): string {
  return `rehearsal ${name}, seed ${seed}: ${REHEARSALS[name].meaning}`;
}
