import { describe, expect, test } from 'vitest';
import { readAddress } from '../../src/redis/address.ts';
import { Refusal } from '../../src/refusal.ts';

const PREFIX = '{payrun-database}';

function refusalOf(url: string, prefix = PREFIX): Refusal {
  try {
    readAddress({ url, prefix });
  } catch (error) {
    if (error instanceof Refusal) return error;
  }
  throw new Error('the address was not refused');
}

describe('an address with sentinels', () => {
  test('names all of them, the primary, its user and a database', () => {
    const read = readAddress({ url: 'redis+sentinel://user:p%40ss@one:26380,two,[::1]:26381/payouts?db=2' });
    expect(read).toMatchObject({
      isOneOfSeveral: true,
      shown: 'redis+sentinel://one:26380,two:26379,[::1]:26381/payouts?db=2',
      options: {
        sentinels: [
          { host: 'one', port: 26_380 },
          { host: 'two', port: 26_379 },
          { host: '::1', port: 26_381 },
        ],
        name: 'payouts',
        role: 'master',
        username: 'user',
        password: 'p@ss',
        db: 2,
      },
    });
    expect(read.options).not.toHaveProperty('tls');
    expect(read.options).not.toHaveProperty('sentinelPassword');
  });

  test('may have a password of their own, and is not shown with it', () => {
    const read = readAddress({
      url: 'redis+sentinel://:secret@one/payouts?sentinelUsername=watch&sentinelPassword=other',
    });
    expect(read.options).toMatchObject({ password: 'secret', sentinelUsername: 'watch', sentinelPassword: 'other' });
    expect(read.shown).toBe('redis+sentinel://one:26379/payouts');
  });

  test('speaks TLS to sentinels and servers as rediss+sentinel://', () => {
    expect(readAddress({ url: 'rediss+sentinel://one/payouts' }).options).toMatchObject({
      tls: {},
      sentinelTLS: {},
      enableTLSForSentinelMode: true,
    });
  });
});

describe('an address of a cluster', () => {
  test('names some of its servers', () => {
    const read = readAddress({ url: 'rediss+cluster://:secret@one:7000,two', prefix: `a${PREFIX}` });
    expect(read).toMatchObject({
      isOneOfSeveral: true,
      shown: 'rediss+cluster://one:7000,two:6379',
      options: { password: 'secret', tls: {} },
    });
  });

  test.each(['{payrun}', ''])('needs a prefix with the tag of the mark of a ledger database, not "%s"', (prefix) => {
    const refusal = refusalOf('redis+cluster://:secret@one', prefix);
    expect(refusal).toMatchObject({ kind: 'usage', remedy: expect.stringContaining(PREFIX) });
    expect(refusal.message).toContain('PAYRUN_PREFIX');
  });
});

test('an address of one server leads to that one', () => {
  expect(readAddress({ url: 'redis://one/3' })).toMatchObject({
    isOneOfSeveral: false,
    options: { host: 'one', db: 3 },
  });
  expect(readAddress({ socket: '/run/redis.sock' })).toMatchObject({ isOneOfSeveral: false, shown: '/run/redis.sock' });
});

test.each([
  ['redis+sentinel://:secret@one,two', 'no name of a primary'],
  ['redis+sentinel://:secret@one,two/', 'no name of a primary'],
  ['redis+sentinel://:secret@one,,two/payouts', 'host that is none'],
  ['redis+sentinel://:secret@one:1,two:x/payouts', 'host that is none'],
  ['redis+sentinel://:secret@one/payouts?db=x', 'database that is no number'],
  ['redis+sentinel://:secret@one/payouts?role=slave', '?role'],
  ['redis+cluster://:secret@one,two/1', 'a cluster has not'],
  ['redis+cluster://:secret@one?db=1', '?db'],
  ['redis://:secret@one,two:6379', 'several hosts'],
  ['redis+sentinel://', 'host that is none'],
])('%s is refused without its password: it %s', (url, problem) => {
  const { kind, message, remedy } = refusalOf(url);
  expect(kind).toBe('usage');
  expect(message).toContain(problem);
  expect(`${message}${remedy}`).not.toContain('secret');
});
