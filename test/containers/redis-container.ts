import { setTimeout as delay } from 'node:timers/promises';
import { GenericContainer, getContainerRuntimeClient, RandomPortGenerator, Wait } from 'testcontainers';
import { connectRedis } from '../../src/redis/connect.ts';
import { composeService } from './compose-file.ts';

/** Unless told: the image that docker-compose.yml names. */
const IMAGE = process.env['PAYRUN_TEST_REDIS_IMAGE'] ?? composeService('redis').image;
const REDIS_PORT = 6379;
/** In the place of what the credential service makes of docs/redis.acl: tests have many prefixes. */
const USERS = {
  target: '/redis-users/users.acl',
  content: 'user default reset off ~* &* +@all\nuser payrun reset on >secret ~* +@all\n',
};
const ANSWER_MS_MAX = 2 * 60_000;
const POLL_MS = 50;

/** Redis in a container of its own, started by the command of docker-compose.yml. */
export interface RedisContainer {
  /** Where it answers, after each start of the same container too. */
  readonly url: string;
  /** Ends it as a crash does; resolves when it has ended. */
  kill(): Promise<void>;
  /** Starts it again on its data; resolves when it answers. */
  start(): Promise<void>;
  /** Ends it for good, data and all. */
  remove(): Promise<void>;
}

export async function startRedisContainer(): Promise<RedisContainer> {
  // One of the host's choosing would be another one after each start.
  const port = await new RandomPortGenerator().generatePort();
  const container = await new GenericContainer(IMAGE)
    .withCommand(composeService('redis').command)
    .withCopyContentToContainer([USERS])
    .withExposedPorts({ container: REDIS_PORT, host: port })
    .withWaitStrategy(Wait.forLogMessage('Ready to accept connections'))
    .withStartupTimeout(ANSWER_MS_MAX)
    .start();
  const url = `redis://payrun:secret@${container.getHost()}:${port}`;
  const { container: engine } = await getContainerRuntimeClient();
  const inEngine = engine.getById(container.getId());
  return {
    url,
    async kill() {
      const ended = inEngine.wait();
      await inEngine.kill({ signal: 'SIGKILL' });
      await ended;
    },
    async start() {
      await inEngine.start();
      await answering(url);
    },
    async remove() {
      await container.stop({ timeout: 0, remove: true, removeVolumes: true });
    },
  };
}

async function answering(url: string): Promise<void> {
  const deadline = Date.now() + ANSWER_MS_MAX;
  for (;;) {
    try {
      (await connectRedis({ url }, { name: 'test', kind: 'commands' })).disconnect();
      return;
    } catch (error) {
      if (Date.now() > deadline) throw error;
      await delay(POLL_MS);
    }
  }
}
