import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';

/** Each host has a cable to both: one leads to Redis, one to the payments service. */
export const NETS = ['ledger', 'service'] as const;
export type Net = (typeof NETS)[number];

/** A place where a process can run: its address, and the words before a command that run it there. */
export interface Place {
  readonly address: string;
  readonly through: readonly string[];
}

/** This machine itself. */
export const LOOPBACK: Place = { address: '127.0.0.1', through: [] };

/** A network namespace that has addresses of its own and shares nothing with others but the cables. */
export interface Host {
  readonly addresses: Readonly<Record<Net, string>>;
  readonly through: readonly string[];
  /** The switch's end of the cable goes down: nothing comes through, and nobody is told. */
  unplug(net: Net): void;
  plug(net: Net): void;
  /** Its firewall drops all packets from and to an address, or lets them pass again. */
  drop(address: string): void;
  pass(address: string): void;
}

export interface Network {
  host(name: string): Host;
  close(): void;
}

/** Addresses for tests of network devices (RFC 2544); nothing of this machine's own network is touched. */
const NET_ADDRESS: Readonly<Record<Net, string>> = { ledger: '198.18.0', service: '198.18.1' };

/** Why there can be no hosts here; undefined when there can. With PAYRUN_TEST_HOSTS=required there must be. */
export function missingNetwork(): string | undefined {
  if (process.env['PAYRUN_TEST_HOSTS'] === 'required') return undefined;
  if (process.getuid?.() !== 0) return 'network namespaces need root';
  const name = `payrun-${randomBytes(4).toString('hex')}`;
  try {
    ip('netns', 'add', name);
    execFileSync('ip', ['netns', 'exec', name, 'iptables', '-S'], { stdio: 'pipe' });
    return undefined;
  } catch (error) {
    return `network namespaces need iproute2, iptables and the right to use them: ${String(error).split('\n')[0]}`;
  } finally {
    removeNamespaces(name);
  }
}

/** Hosts on two nets of their own, joined by switches that stand in a namespace as well. */
export function openNetwork(): Network {
  const id = `payrun-${randomBytes(4).toString('hex')}`;
  const switches = `${id}-switches`;
  const names = [switches];
  const close = (): void => removeNamespaces(...names.splice(0));
  process.once('exit', close);
  ip('netns', 'add', switches);
  for (const net of NETS) {
    ip('-n', switches, 'link', 'add', net, 'type', 'bridge');
    ip('-n', switches, 'link', 'set', net, 'up');
  }

  function host(name: string): Host {
    const namespace = `${id}-${name}`;
    const through = ['ip', 'netns', 'exec', namespace];
    const number = names.push(namespace);
    const addresses = { ledger: `${NET_ADDRESS.ledger}.${number}`, service: `${NET_ADDRESS.service}.${number}` };
    const portOf = (net: Net): string => `${net}-${number}`;
    ip('netns', 'add', namespace);
    ip('-n', namespace, 'link', 'set', 'lo', 'up');
    for (const net of NETS) {
      ip('-n', switches, 'link', 'add', portOf(net), 'type', 'veth', 'peer', 'name', net, 'netns', namespace);
      ip('-n', switches, 'link', 'set', portOf(net), 'master', net, 'up');
      ip('-n', namespace, 'address', 'add', `${addresses[net]}/24`, 'dev', net);
      ip('-n', namespace, 'link', 'set', net, 'up');
    }
    const firewall = (deed: '-A' | '-D', address: string): void => {
      const [program, ...words] = [...through, 'iptables', deed];
      execFileSync(program, [...words, 'INPUT', '-s', address, '-j', 'DROP'], { stdio: 'pipe' });
      execFileSync(program, [...words, 'OUTPUT', '-d', address, '-j', 'DROP'], { stdio: 'pipe' });
    };
    return {
      addresses,
      through,
      unplug: (net) => ip('-n', switches, 'link', 'set', portOf(net), 'down'),
      plug: (net) => ip('-n', switches, 'link', 'set', portOf(net), 'up'),
      drop: (address) => firewall('-A', address),
      pass: (address) => firewall('-D', address),
    };
  }

  return {
    host,
    close() {
      process.off('exit', close);
      close();
    },
  };
}

function removeNamespaces(...names: readonly string[]): void {
  for (const name of names) {
    try {
      ip('netns', 'delete', name);
    } catch {
      // It was never made.
    }
  }
}

function ip(...words: readonly string[]): void {
  execFileSync('ip', words, { stdio: 'pipe' });
}
