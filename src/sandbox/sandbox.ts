import { createHash } from 'node:crypto';
import { once, setMaxListeners } from 'node:events';
import { stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock, Random } from '../clock.ts';
import { codeOf, Refusal } from '../refusal.ts';
import { openSwitches, type SwitchJournal } from './faults/switch-journal.ts';
import { changeSwitches, SWITCH_DEFAULTS, type Switches, type SwitchSettings } from './faults/switches.ts';
import { type FlowOptions, openFlow } from './flow.ts';
import type { NewIdentity } from './identities.ts';
import { ENVIRONMENTS, type Environment, type Operation } from './operations.ts';
import type { Payment } from './payments/payments.ts';
import { openRealm, type Realm } from './realm.ts';
import { startServer } from './server.ts';
import { openTenant, type Tenant } from './tenant.ts';

export interface SandboxOptions {
  /** Holds everything that the sandbox knows; made when it is not there. One sandbox at a time. */
  readonly folder: string;
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** 0 is any free port. `test` is always served (default 0), `prod` only when its port is given. */
  readonly ports?: { readonly test?: number; readonly prod?: number };
  /** Over those of the folder. */
  readonly switches?: SwitchSettings;
  readonly clock: Clock;
  readonly random: Random;
}

/** A simulated payments service at work. */
export interface Sandbox {
  readonly tenantId: string;
  /** The environment's base address, without a slash at its end. Throws for an environment that is not served. */
  url(environment: Environment): string;
  /** The secret is shown here and never again. */
  createCredential(name: string, environment: Environment): Promise<{ clientId: string; clientSecret: string }>;
  /** In whichever environment it lives; one that is not there is no fault. */
  revokeCredential(clientId: string): Promise<void>;
  /** An id that is known already stays what it is. */
  registerIdentities(environment: Environment, identities: readonly NewIdentity[]): Promise<void>;
  readonly switches: {
    get(): Switches;
    /** Throws a Refusal for an unknown name or a wrong value; then nothing changes. */
    set(changes: SwitchSettings): void;
  };
  /** Payments made, in the order in which they were made. */
  book(environment: Environment): readonly Payment[];
  /** Requests seen since the start, both environments together. */
  counters(): Readonly<Record<Operation, number>>;
  close(): Promise<void>;
}

/**
 * Starts the simulated service on a folder. Throws a Refusal when the folder cannot be used or another sandbox is at
 * work on it, and when an address cannot be had.
 */
export async function startSandbox(options: SandboxOptions): Promise<Sandbox> {
  // Wrong ones are told before the folder is touched.
  changeSwitches(SWITCH_DEFAULTS, options.switches ?? {});
  const counters: Record<Operation, number> = { ...NOTHING_SEEN };
  const releases: Release[] = [];
  let closing: Promise<void> | undefined;
  const close = () => {
    closing ??= releaseAll(releases);
    return closing;
  };

  try {
    const { tenant, realms, switches } = await openBooks(options, releases);
    switches.set(options.switches ?? {});
    const urls = new Map<Environment, string>();
    for (const { environment, port } of servedPorts(options.ports)) {
      const url = await serveRealm(
        known(realms, environment),
        { ...options, port },
        {
          releases,
          switches: () => switches.get(),
          onRequest: (operation) => {
            counters[operation] += 1;
          },
        },
      );
      urls.set(environment, url);
    }
    return {
      tenantId: tenant.tenantId,
      url: (environment) => known(urls, environment),
      createCredential: (name, environment) => known(realms, environment).credentials.create(name),
      async revokeCredential(clientId) {
        for (const realm of realms.values()) await realm.credentials.revoke(clientId);
      },
      async registerIdentities(environment, identities) {
        const realm = known(realms, environment);
        realm.identities.add(identities);
        await realm.identities.synced();
      },
      switches,
      book: (environment) => known(realms, environment).payments.book(),
      counters: () => ({ ...counters }),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

type Release = () => Promise<void> | void;

const NOTHING_SEEN: Readonly<Record<Operation, number>> = {
  token: 0,
  tokenTest: 0,
  quotes: 0,
  identities: 0,
  payments: 0,
  payment: 0,
  balances: 0,
};

async function openBooks(
  { folder, clock, random }: SandboxOptions,
  releases: Release[],
): Promise<{ tenant: Tenant; realms: ReadonlyMap<Environment, Realm>; switches: SwitchJournal }> {
  const tenant = await openTenant(folder, random);
  releases.push(await lockFolder(folder));
  const switches = await openSwitches(folder, clock);
  releases.push(() => switches.close());
  const realms = new Map<Environment, Realm>();
  for (const environment of ENVIRONMENTS) {
    const realm = await openRealm({ folder, tenant, environment, clock, random });
    releases.push(() => realm.close());
    realms.set(environment, realm);
  }
  return { tenant, realms, switches };
}

function servedPorts(ports: SandboxOptions['ports'] = {}): { environment: Environment; port: number }[] {
  const test = { environment: 'test' as const, port: ports.test ?? 0 };
  return ports.prod === undefined ? [test] : [test, { environment: 'prod', port: ports.prod }];
}

/** Serves one environment; its base address. */
async function serveRealm(
  realm: Realm,
  { host = '127.0.0.1', port, clock, random }: SandboxOptions & { port: number },
  { releases, ...shared }: Pick<FlowOptions, 'switches' | 'onRequest'> & { releases: Release[] },
): Promise<string> {
  const stopping = new AbortController();
  // Each answer that waits listens to it.
  setMaxListeners(0, stopping.signal);
  const handle = openFlow({ realm, clock, random, signal: stopping.signal, ...shared });
  const server = await startServer({ host, port, clock, handle });
  releases.push(() => {
    stopping.abort();
    return server.close();
  });
  return server.url;
}

/** In reverse; each one is released even if another fails, and the first failure is thrown. */
async function releaseAll(releases: Release[]): Promise<void> {
  const failures: unknown[] = [];
  for (const release of releases.toReversed()) {
    try {
      await release();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw new Error('the sandbox could not be closed', { cause: failures[0] });
}

function known<Value>(values: ReadonlyMap<Environment, Value>, environment: Environment): Value {
  const value = values.get(environment);
  if (value === undefined) throw new Error(`the sandbox does not serve ${environment}`);
  return value;
}

/**
 * Takes a folder for one sandbox: a second one would keep a book of its own. The lock is a socket that the kernel frees
 * with its process, however that ends. Returns the release; throws a Refusal while another holds it.
 */
async function lockFolder(folder: string): Promise<() => Promise<void>> {
  const server = createServer((socket) => socket.destroy());
  server.listen(await lockAddress(folder));
  try {
    await once(server, 'listening');
  } catch (cause) {
    if (codeOf(cause) !== 'EADDRINUSE') throw cause;
    throw new Refusal(
      `Another sandbox uses ${folder}`,
      'Stop it, or give this one a folder of its own with --folder.',
      { cause },
    );
  }
  server.unref();
  return async () => {
    server.close();
    await once(server, 'close');
  };
}

/** Named for the folder itself, whatever path leads to it. Only Linux has sockets without a file (leading NUL). */
async function lockAddress(folder: string): Promise<string> {
  const { dev, ino } = await stat(folder, { bigint: true });
  const name = `payrun-sandbox-${createHash('sha256').update(`${dev}:${ino}`).digest('hex').slice(0, 32)}`;
  return process.platform === 'linux' ? `\0${name}` : join(tmpdir(), name);
}
