import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';

/** An atomic script and the name under which Redis keeps it. */
export interface Script {
  readonly text: string;
  readonly sha: string;
}

export function script(text: string): Script {
  return { text, sha: createHash('sha1').update(text).digest('hex') };
}

/** A fault of the ledger: Redis answered what a script of ours never answers, or a record is damaged. */
export class LedgerFault extends Error {
  override readonly name = 'LedgerFault';
}

/** Something else than payrun changed the block list, or it was sealed with a key that this process does not have. */
export class BlockListFault extends LedgerFault {}

/**
 * Runs a script under the ledger's prefix. A server that does not know it yet is given its text; that first call ran
 * nothing, so nothing runs twice. Throws what ioredis throws when the connection is lost or the command times out.
 */
export async function runScript(
  redis: Redis,
  { text, sha }: Script,
  call: { prefix: string; args: (string | number)[] },
): Promise<unknown> {
  try {
    return await redis.evalsha(sha, 1, call.prefix, ...call.args);
  } catch (error) {
    if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
    return await redis.eval(text, 1, call.prefix, ...call.args);
  }
}

/** A script's reply that must be an array. */
export function listOf(reply: unknown): unknown[] {
  if (!Array.isArray(reply)) throw new LedgerFault('a script answered no list');
  return reply;
}

/** A script's reply that must be a list of strings; numbers are written out. */
export function textsOf(reply: unknown): string[] {
  return listOf(reply).map(textOf);
}

export function textOf(reply: unknown): string {
  if (typeof reply === 'string') return reply;
  if (typeof reply === 'number') return String(reply);
  throw new LedgerFault('a script answered no text');
}

export function integerOf(reply: unknown): number {
  const value = typeof reply === 'number' ? reply : Number.parseInt(textOf(reply), 10);
  if (!Number.isSafeInteger(value)) throw new LedgerFault('a script answered no integer');
  return value;
}

/** Throws a LedgerFault for what is none of the words. */
export function wordOf<const Word extends string>(words: readonly Word[], reply: string | undefined): Word {
  const word = words.find((known) => known === reply);
  if (word === undefined) throw new LedgerFault('a script gave an unknown answer');
  return word;
}

/** Redis's time, in milliseconds since 1970. */
export async function redisTime(redis: Redis): Promise<number> {
  const [seconds, microseconds] = await redis.time();
  return integerOf(seconds) * 1000 + Math.floor(integerOf(microseconds) / 1000);
}
