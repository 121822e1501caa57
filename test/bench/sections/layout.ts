import type { Redis } from 'ioredis';
import { ledgerKeys } from '../../../src/ledger/keys.ts';
import { type Figure, figure } from '../figures.ts';
import { openRig, PREFIX } from '../rig.ts';
import type { Section } from '../section.ts';

/** A record's fields by their names. */
type Fields = ReadonlyMap<string, Buffer>;

const KEYS_PER_CALL = 500;
const UNIT_SEPARATOR = Buffer.from('\u001f');

const ROW = ['ref', 'ben', 'org', 'amt', 'typ', 'src', 'dst', 'sco', 'dco', 'poc', 'pic', 'pur', 'soc', 'rh'];
/** As long as a payout's key. */
const KEY = `${PREFIX}:p:20260101-abcdef:100000`;
const INDEXES = ['quotes', 'references', 'likely'];
const IDS = ['ben', 'org', 'q', 'pid', 'rh'];

/** What the ledger takes of Redis for a payout, part by part, and what its record would take in other layouts. */
export const layout: Section = {
  name: 'layout',
  title: 'Bytes of a payout',
  async measure({ pick, say }) {
    const rows = pick(2000, 100_000);
    const rig = await openRig();
    try {
      const { redis } = rig.redis;
      await rig.worker();
      const runId = await rig.submit(await rig.file('layout', rows));
      await rig.service.paid(rows);
      await rig.finished(runId);
      const parts = await bytesByPart(redis);
      const record = await readRecord(redis, ledgerKeys(PREFIX).prefix, { runId, line: rows });
      const drafts: Figure[] = [];
      for (const index of INDEXES) {
        const bytes = (await packedIndexBytes(redis, index)) / rows;
        drafts.push(figure({ name: `keys ${index}, ids and places as bytes`, unit: 'bytes per payout' }, [bytes]));
      }
      await redis.flushall();
      const keep = (name: string, bytes: number): void => {
        say(`${name}: ${Math.round(bytes)} bytes`);
        drafts.push(figure({ name: `record, ${name}`, unit: 'bytes per payout' }, [bytes]));
      };
      for (const [name, draft] of Object.entries(DRAFTS)) keep(name, await bytesOf(redis, draft(record)));
      for (const [name, draft] of Object.entries(TEXTS)) keep(name, await textBytesOf(redis, draft(record)));
      return {
        figures: [
          figure({ name: 'all keys', unit: 'bytes per payout', target: { by: 'value', atMost: 600 } }, [
            [...parts.values()].reduce((sum, bytes) => sum + bytes, 0) / rows,
          ]),
          ...[...parts]
            .filter(([, bytes]) => bytes >= rows)
            .toSorted(([, one], [, other]) => other - one)
            .map(([part, bytes]) => figure({ name: `keys ${part}`, unit: 'bytes per payout' }, [bytes / rows])),
          ...drafts,
        ],
        notes: [
          `MEMORY USAGE of all keys after a run of ${rows.toLocaleString('en')} rows, every payment accepted and followed; parts under a byte are left out, and what stands in buckets gets less with more payouts.`,
          'Drafts: indexes with ids and hashes as bytes, and a payout as 6 bytes; one record of that run in layouts that were not built, by `MEMORY USAGE` in a Redis with the same settings.',
        ],
      };
    } finally {
      await rig.close();
    }
  },
};

/** The keys that match, some at a time. */
function scanned(redis: Redis, match: string): AsyncIterable<string[]> {
  return redis.scanStream({ match, count: KEYS_PER_CALL });
}

async function bytesByPart(redis: Redis): Promise<ReadonlyMap<string, number>> {
  const parts = new Map<string, number>();
  for await (const keys of scanned(redis, `${PREFIX}:*`)) {
    const pipeline = redis.pipeline();
    for (const key of keys) pipeline.memory('USAGE', key);
    const replies = (await pipeline.exec()) ?? [];
    for (const [at, key] of keys.entries()) {
      const part = key.slice(PREFIX.length + 1).split(':')[0] ?? '';
      parts.set(part, (parts.get(part) ?? 0) + Number(replies[at]?.[1] ?? 0));
    }
  }
  return parts;
}

/** What an index would take, in as many buckets, with its ids as bytes and a number in the place of each run. */
async function packedIndexBytes(redis: Redis, index: string): Promise<number> {
  const place = Buffer.alloc(6, 0xff);
  let total = 0;
  for await (const keys of scanned(redis, `${PREFIX}:${index}:*`)) {
    for (const key of keys) {
      const packed = new Map((await redis.hkeys(key)).map((id) => [bytesIn(Buffer.from(id)), place]));
      const draft = key.replace(index, 'x'.repeat(index.length));
      await redis.hset(draft, packed);
      total += (await redis.memory('USAGE', draft, 'SAMPLES', 0)) ?? Number.NaN;
      await redis.del(draft);
    }
  }
  return total;
}

async function readRecord(redis: Redis, prefix: string, of: { runId: string; line: number }): Promise<Fields> {
  return new Map(Object.entries(await redis.hgetallBuffer(`${prefix}:p:${of.runId}:${of.line}`)));
}

const DRAFTS: Readonly<Record<string, (record: Fields) => Fields>> = {
  'as it is': (record) => record,
  'its row in one field': packRow,
  'its history in one field': packHistory,
  'its ids as bytes': packIds,
  'all three': (record) => packRow(packHistory(packIds(record))),
};

/** No hash: one value, of which the scripts would have to know the places. */
const TEXTS: Readonly<Record<string, (record: Fields) => Buffer>> = {
  'all of it in one text': textOf,
  'all of it in one text, its ids as bytes': (record) => textOf(packIds(record)),
};

function textOf(record: Fields): Buffer {
  return Buffer.concat([...record.values()].flatMap((value) => [value, UNIT_SEPARATOR]));
}

function packRow(record: Fields): Fields {
  return pack(record, 'row', ROW);
}

function packHistory(record: Fields): Fields {
  return pack(
    record,
    'h',
    [...record.keys()].filter((name) => /^h\d+$/.test(name)),
  );
}

/** Without the named fields, and with their values in one. */
function pack(record: Fields, into: string, names: readonly string[]): Fields {
  const values = names.flatMap((name) => [record.get(name) ?? Buffer.alloc(0), UNIT_SEPARATOR]);
  const others = [...record].filter(([name]) => !names.includes(name));
  return new Map([...others, [into, Buffer.concat(values)]]);
}

function bytesIn(value: Buffer): Buffer {
  return Buffer.from(value.toString().replaceAll('-', ''), 'hex');
}

/** UUIDs and hashes as their bytes. */
function packIds(record: Fields): Fields {
  return new Map([...record].map(([name, value]) => [name, IDS.includes(name) ? bytesIn(value) : value]));
}

async function bytesOf(redis: Redis, record: Fields): Promise<number> {
  await redis.hset(KEY, new Map(record));
  return await takeBytes(redis);
}

async function textBytesOf(redis: Redis, text: Buffer): Promise<number> {
  await redis.set(KEY, text);
  return await takeBytes(redis);
}

async function takeBytes(redis: Redis): Promise<number> {
  const bytes = await redis.memory('USAGE', KEY, 'SAMPLES', 0);
  await redis.del(KEY);
  return bytes ?? Number.NaN;
}
