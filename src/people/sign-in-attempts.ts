import { createHash } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { foldedName } from '../access/same-person.ts';
import type { TryLimit, TryLimits } from '../ledger/people/sign-ins.ts';

/** Whoever forgot which password it was; from then on each further one waits twice as long, up to a quarter of an hour. */
const PAIR_FREE_MAX = 5;
const PAIR_WAIT_MS_MAX = 15 * 60_000;
/** An office shares an address. */
const ADDRESS_FREE_MAX = 20;
const ADDRESS_WAIT_MS_MAX = 15 * 60_000;
/** From all addresses together. So little that strangers keep nobody out for good, and guess no password in a lifetime. */
const ACCOUNT_FREE_MAX = 20;
const ACCOUNT_WAIT_MS_MAX = 10_000;

/** Of codes of a second factor, over all addresses: whoever types them has the password already. */
const FACTOR_FREE_MAX = 5;
const FACTOR_WAIT_MS_MAX = 15 * 60_000;

/** After so long without a try the former ones count no more. */
export const TRIES_REMEMBERED_MS = 60 * 60_000;

/** How tries to sign in to an account from an address are limited. What they are counted by tells neither of them. */
export function tryLimits(name: string, ip: string): [pair: TryLimit, address: TryLimit, account: TryLimit] {
  const account = foldedName(name);
  const address = addressGroup(ip);
  return [
    { what: hashed('pair', account, address), freeMax: PAIR_FREE_MAX, waitMsMax: PAIR_WAIT_MS_MAX },
    { what: hashed('address', address), freeMax: ADDRESS_FREE_MAX, waitMsMax: ADDRESS_WAIT_MS_MAX },
    { what: hashed('account', account), freeMax: ACCOUNT_FREE_MAX, waitMsMax: ACCOUNT_WAIT_MS_MAX },
  ];
}

/** How tries from a device are limited that signed in to the account before, whatever others try from its address. */
export function deviceLimit(name: string, device: string): TryLimit {
  const what = hashed('device', foldedName(name), device);
  return { what, freeMax: PAIR_FREE_MAX, waitMsMax: PAIR_WAIT_MS_MAX };
}

/** How codes of somebody's second factor are limited. */
export function factorLimits(name: string): TryLimits {
  return [{ what: hashed('factor', foldedName(name)), freeMax: FACTOR_FREE_MAX, waitMsMax: FACTOR_WAIT_MS_MAX }];
}

/** Whoever has one address of version 6 has all that share its first 64 bits; one of version 4 is itself in either guise. */
export function addressGroup(ip: string): string {
  const [bare = ''] = ip.split('%');
  if (!isIPv6(bare)) return bare;
  const short = new URL(`http://[${bare}]`).hostname.slice(1, -1);
  const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(short);
  if (mapped !== null) {
    const bits = mapped.slice(1).map((part) => Number.parseInt(part, 16));
    return bits.flatMap((part) => [part >> 8, part & 255]).join('.');
  }
  const [head = '', tail = ''] = short.split('::');
  const [before, after] = [head, tail].map((part) => part.split(':').filter((group) => group !== ''));
  const zeros = Array.from({ length: 8 - (before?.length ?? 0) - (after?.length ?? 0) }, () => '0');
  return [...(before ?? []), ...zeros, ...(after ?? [])].slice(0, 4).join(':');
}

function hashed(...parts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(parts)).digest('base64url');
}
