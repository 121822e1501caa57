import { rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { systemRandom } from '../../src/clock.ts';

export interface ArmingLine {
  /** Path of a unix socket that leads to the Redis. */
  readonly socket: string;
  /** From now on requests arrive and their replies are lost: the connection ends instead. */
  loseReplies(): void;
}

/** A line to a Redis that can lose replies. */
export async function openArmingLine(redisSocket: string): Promise<ArmingLine> {
  const socket = join(tmpdir(), `payrun-line-${systemRandom.bytes(6).toString('hex')}.sock`);
  const open = new Set<Socket>();
  let isLosing = false;
  const server = createServer((client) => {
    const redis = connect(redisSocket);
    for (const end of [client, redis]) {
      open.add(end);
      end.on('error', () => {});
      end.on('close', () => open.delete(end));
    }
    client.pipe(redis);
    redis.on('data', (chunk) => {
      if (isLosing) client.destroy();
      else client.write(chunk);
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(socket, resolve);
  });
  onTestFinished(() => {
    server.close();
    for (const end of open) end.destroy();
    rmSync(socket, { force: true });
  });
  return {
    socket,
    loseReplies() {
      isLosing = true;
    },
  };
}
