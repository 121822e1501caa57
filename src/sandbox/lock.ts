import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { stat } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { codeOf, EXIT, Refusal } from '../refusal.ts';

/**
 * Takes a folder for one sandbox: a second one would keep a book of its own. The lock is a socket that the kernel frees
 * with its process, however that ends. Returns the release; throws a Refusal (exit 2) while another holds it.
 */
export async function lockFolder(folder: string): Promise<() => Promise<void>> {
  const server = createServer((socket) => socket.destroy());
  server.listen(await lockAddress(folder));
  try {
    await once(server, 'listening');
  } catch (cause) {
    if (codeOf(cause) !== 'EADDRINUSE') throw cause;
    throw new Refusal(`Another sandbox uses ${folder}`, {
      exitCode: EXIT.usage,
      remedy: 'Stop it, or give this one a folder of its own with --folder.',
      cause,
    });
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
