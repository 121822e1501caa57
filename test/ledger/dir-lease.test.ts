import { cpSync, linkSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Clock, systemClock, systemRandom } from '../../src/clock.ts';
import { type DataDir, openDataDir } from '../../src/ledger/intents/data-dir.ts';
import { claimDataDir, openDirLease } from '../../src/ledger/intents/dir-lease.ts';
import { ledgerKeys } from '../../src/ledger/keys.ts';
import { freshPrefix, useTestRedis } from '../support/redis.ts';

const server = await useTestRedis();
let folder: string;
let prefix: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'payrun-lease-'));
  prefix = freshPrefix();
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Waits take no time; `whileWaiting` happens at each. */
function quickClock(whileWaiting: () => Promise<unknown>): Clock {
  let monotonicMs = 0;
  return {
    ...systemClock,
    monotonic: () => monotonicMs,
    async sleep(ms) {
      monotonicMs += ms;
      await whileWaiting();
    },
  };
}

/** A host starts on this data directory. */
async function start(name: string, whileWaiting: () => Promise<unknown> = async () => {}): Promise<DataDir> {
  const path = join(folder, name);
  const opened = await openDataDir(path, { random: systemRandom, requirePersistentDisk: false });
  const lease = await openDirLease(server.redis, ledgerKeys(prefix), path);
  return await claimDataDir(opened, {
    lease,
    instance: 'ledger-1',
    clock: quickClock(whileWaiting),
    random: systemRandom,
  });
}

const lives = (id: string) => server.redis.exists(`${prefix}:dir-lease:${id}`);

describe('a data directory', () => {
  test('keeps its id from start to start', async () => {
    const first = await start('one');
    expect(await start('one')).toEqual(first);
    expect(first.instance).toBe('ledger-1');
  });

  test('that was copied file by file has an id of its own, and so for all processes that start there at once', async () => {
    const { id } = await start('one');
    cpSync(join(folder, 'one'), join(folder, 'two'), { recursive: true });
    const copies = await Promise.all(Array.from({ length: 8 }, () => start('two')));
    const [copy] = new Set(copies.map((dir) => dir.id));
    expect(new Set(copies.map((dir) => dir.id)).size).toBe(1);
    expect(copy).not.toBe(id);
    expect((await start('two')).id).toBe(copy);
    expect((await start('one')).id).toBe(id);
  });

  test('that two people wrote off has an id of its own when payrun starts there again: nobody waits for the former one', async () => {
    const { id } = await start('one');
    await server.redis.hset(ledgerKeys(prefix).head, `writtenOff:${id}`, '1');
    const again = await start('one');
    expect(again.id).not.toBe(id);
    expect(await start('one')).toEqual(again);
  });

  test('that was restored in its place, where the file system gave the copy the inode that had become free, has an id of its own', async () => {
    const { id } = await start('one');
    const file = join(folder, 'one/ledger.json');
    const text = readFileSync(file, 'utf8');
    const { born } = JSON.parse(text) as { born: string };
    expect(born).toMatch(/^[0-9]{19}$/);
    // The file keeps its inode, and says of itself what it said before it was lost: that it was made another time.
    writeFileSync(file, text.replace(born, String(BigInt(born) - 1n)));
    expect((await start('one')).id).not.toBe(id);
  });

  describe('of which a copy shares all that is on the disk, as one of a cloned machine does,', () => {
    beforeEach(async () => {
      await start('one');
      mkdirSync(join(folder, 'two'), { mode: 0o700 });
      // The very file has the very inode.
      linkSync(join(folder, 'one/ledger.json'), join(folder, 'two/ledger.json'));
    });

    test('gives the copy an id of its own while the other host lives', async () => {
      const { id } = await start('one');
      const copy = await start('two');
      expect(copy.id).not.toBe(id);
      expect((await start('one')).id).toBe(id);
      expect((await start('two')).id).toBe(copy.id);
      expect([await lives(id), await lives(copy.id)]).toEqual([1, 1]);
    });

    test('waits for a host that is gone no longer than a lease, though the clock of Redis stepped back since', async () => {
      const { id } = await start('one');
      const key = `${prefix}:dir-lease:${id}`;
      await server.redis.pexpire(key, 3_600_000);
      // Time passes for the lease as it does for whoever waits.
      const passes = async () => server.redis.pexpire(key, (await server.redis.pttl(key)) - 500);
      expect((await start('two', passes)).id).toBe(id);
    });

    test('lets the copy go on under the id once the other host is gone', async () => {
      const { id } = await start('one');
      const gone = () => server.redis.del(`${prefix}:dir-lease:${id}`);
      expect((await start('two', gone)).id).toBe(id);
    });
  });
});
