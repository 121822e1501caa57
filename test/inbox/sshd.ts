import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { userInfo } from 'node:os';
import { join } from 'node:path';

const PROGRAM = '/usr/sbin/sshd';

/** sshd changes users, which only root may (.ci/run installs it). */
export const HAS_SSHD = existsSync(PROGRAM) && process.getuid?.() === 0;

/** An OpenSSH server on loopback that does nothing but SFTP. */
export interface Sshd {
  readonly port: number;
  readonly user: string;
  readonly privateKey: string;
  /** As `ssh-keygen -l` shows it. */
  readonly hostKey: string;
  start(): Promise<void>;
  /** Ends the server and all its connections. */
  stop(): Promise<void>;
  remove(): Promise<void>;
}

export async function prepareSshd(): Promise<Sshd> {
  // Below /tmp folders of other users may lie, which sshd would not mind here, but its log would.
  const folder = mkdtempSync('/tmp/payrun-sshd-');
  mkdirSync('/run/sshd', { recursive: true, mode: 0o755 });
  const keyAt = (name: string): string => {
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(folder, name)]);
    return join(folder, name);
  };
  const [hostKey, key] = [keyAt('host'), keyAt('client')];
  const port = await freePort();
  const config = `Port ${port}
ListenAddress 127.0.0.1
HostKey ${hostKey}
AuthorizedKeysFile ${key}.pub
PermitRootLogin yes
PasswordAuthentication no
UsePAM no
StrictModes no
PidFile none
Subsystem sftp internal-sftp
ForceCommand internal-sftp
`;
  writeFileSync(join(folder, 'conf'), config);
  let running: { end: () => Promise<void> } | undefined;

  return {
    port,
    user: userInfo().username,
    // As a setting has it: without the line end.
    privateKey: readFileSync(key, 'utf8').trimEnd(),
    hostKey: execFileSync('ssh-keygen', ['-l', '-f', `${hostKey}.pub`], { encoding: 'utf8' }).split(' ')[1] ?? '',
    async start() {
      const child = spawn(PROGRAM, ['-D', '-e', '-f', join(folder, 'conf')], { stdio: ['ignore', 'ignore', 'pipe'] });
      const endAll = (): void => {
        const pids = childrenOf(child.pid ?? 0);
        child.kill('SIGKILL');
        for (const pid of pids) process.kill(pid, 'SIGKILL');
      };
      process.once('exit', endAll);
      const exited = once(child, 'exit');
      running = {
        async end() {
          endAll();
          process.off('exit', endAll);
          await exited;
        },
      };
      for await (const text of child.stderr) if (String(text).includes('Server listening')) break;
    },
    async stop() {
      await running?.end();
      running = undefined;
    },
    async remove() {
      await running?.end();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The processes of a server's connections: each runs in a session of its own, and would outlive it. */
function childrenOf(parent: number): number[] {
  const children = readdirSync('/proc')
    .filter((name) => /^[0-9]+$/.test(name))
    .map((name) => Number.parseInt(name, 10))
    .filter((pid) => parentOf(pid) === parent);
  return children.flatMap((pid) => [...childrenOf(pid), pid]);
}

function parentOf(pid: number): number {
  try {
    return Number.parseInt(/^PPid:\s+([0-9]+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '', 10);
  } catch {
    return Number.NaN;
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  await once(server, 'close');
  return typeof address === 'object' && address !== null ? address.port : 0;
}
