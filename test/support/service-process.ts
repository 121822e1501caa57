import { join } from 'node:path';
import type { ProcessesAlone, Started } from './payrun-processes.ts';

/** The simulated service as a process of its own. */
export interface ServiceProcess {
  readonly url: string;
  /** Holds its book. */
  readonly folder: string;
  /** The five service settings; another address stands for a relay in front of it. */
  settings(url?: string): Record<string, string>;
  /** Ends it at once. */
  kill(): Promise<void>;
  /** Starts it anew under the same address, on the same book. */
  startAgain(): Promise<void>;
}

export interface ServiceOptions {
  /** Such as `quoteLifeMs=4000`. */
  readonly switches?: readonly string[];
  /** Identities by their type; without them any identity is taken. */
  readonly identities?: Readonly<Record<'BENEFICIARY' | 'ORIGINATOR', readonly string[]>>;
  /** Another host than this one: its address, and the words that run a command there. */
  readonly host?: { readonly address: string; readonly through: readonly string[] };
}

/** Starts it with a credential of its own; it ends with the processes. */
export async function startService(processes: ProcessesAlone, options: ServiceOptions = {}): Promise<ServiceProcess> {
  const { switches = [], identities, host } = options;
  const folder = join(processes.folder(), 'service');
  for (const [type, ids] of Object.entries(identities ?? {})) {
    await ran(processes, ['identity', 'add', ...ids, '--type', type, '--folder', folder]);
  }
  const created = await ran(processes, ['credential', 'create', 'test', '--json', '--folder', folder]);
  const credential = JSON.parse(created) as { tenantId: string; clientId: string; clientSecret: string };
  const anyIdentity = identities === undefined ? ['--any-identity'] : [];
  const set = switches.length === 0 ? [] : ['--set', ...switches];
  const at = host === undefined ? [] : ['--host', host.address];
  const start = async (port: string): Promise<Started> => {
    const words = ['sandbox', '--port', port, '--folder', folder, ...at, ...anyIdentity, ...set];
    const started = processes.start(words, host === undefined ? {} : { through: host.through });
    await started.said('\ntenant ');
    return started;
  };
  let serving = await start('0');
  const url = /^test +(\S+)$/m.exec(serving.stdout())?.[1] ?? '';
  return {
    url,
    folder,
    settings: (address = url) => ({
      PAYRUN_SERVICE_URL: address,
      PAYRUN_CLIENT_ID: credential.clientId,
      PAYRUN_CLIENT_SECRET: credential.clientSecret,
      PAYRUN_TENANT_ID: credential.tenantId,
      PAYRUN_ENVIRONMENT: 'test',
    }),
    async kill() {
      serving.kill('SIGKILL');
      await serving.ended;
    },
    async startAgain() {
      serving = await start(new URL(url).port);
    },
  };
}

async function ran(processes: ProcessesAlone, words: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await processes.command(['sandbox', ...words]);
  if (code !== 0) throw new Error(`payrun sandbox ${words[0]} ended with ${code}: ${stderr}`);
  return stdout;
}
