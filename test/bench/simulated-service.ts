import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { textsOfSwitches } from '../../src/sandbox/faults/switch-text.ts';
import type { Switches } from '../../src/sandbox/faults/switches.ts';
import type { Environment, Rig } from './rig.ts';

export interface SimulatedService {
  /** What a payrun process must be told to pay through it. */
  readonly settings: Environment;
  /** Where it keeps its book. */
  readonly folder: string;
}

/** `payrun sandbox` as the service, with switches of its own. */
export async function startSimulatedService(rig: Rig, switches: Partial<Switches>): Promise<SimulatedService> {
  const folder = join(rig.folder, 'service');
  mkdirSync(folder);
  const bare = { REDIS_URL: '' };
  const made = await rig
    .start(['sandbox', 'credential', 'create', 'bench', '--json', '--folder', folder], bare)
    .ended();
  const { tenantId, clientId, clientSecret } = JSON.parse(made) as Record<string, string>;
  const words = ['sandbox', '--port', '0', '--folder', folder, '--any-identity', '--set', ...textsOfSwitches(switches)];
  const url = await rig.start(words, bare).find(/^test +(\S+)$/m);
  return {
    folder,
    settings: {
      PAYRUN_SERVICE_URL: url,
      PAYRUN_CLIENT_ID: clientId ?? '',
      PAYRUN_CLIENT_SECRET: clientSecret ?? '',
      PAYRUN_TENANT_ID: tenantId ?? '',
    },
  };
}
