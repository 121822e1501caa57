import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';

/** What is authenticated: each purpose has keys of its own. */
type MacPurpose = 'audit entry' | 'row';

/** What a code says about a text: it holds; the text or the code was changed; or its key is not among these. */
type MacCheck = 'holds' | 'differs' | 'unknown-key';

/** Codes (MACs) that only who has the ledger's key can make. */
export interface MacKeys {
  /** The text's code under the first key: the key's id (8 hex digits), a point, HMAC-SHA-256 in lower-case hex. */
  sign(text: string): string;
  /** Compares a code with that of the text, under whichever of the keys it names. */
  check(text: string, code: string): MacCheck;
}

/** Where the keys come from: `Config` has both. */
export interface LedgerKeySource {
  /** The lines of PAYRUN_LEDGER_KEY, if it is set: the first one signs, all of them verify. */
  readonly ledgerKey: readonly string[] | undefined;
  /** Without PAYRUN_LEDGER_KEY the client secret is the one line. */
  readonly service: { readonly clientSecret: string } | undefined;
}

const KEY_BYTES = 32;
const ID_BYTES = 4;
const MAC_DIGITS = 64;

/**
 * The ledger's keys for a purpose; undefined where there is neither a key nor a service, as with payrun's own sandbox. They
 * lie outside Redis: whoever can write there cannot make a code. Each is derived from a line by HKDF-SHA-256 (RFC 5869). The
 * salt is `payrun ledger key`, the info is the purpose, with the ledger where one is named. So a former client secret verifies
 * as a later line, and a copy from another ledger does not. A code may have fewer `digits` of the HMAC than its 64.
 */
export function openLedgerKeys(
  { ledgerKey, service }: LedgerKeySource,
  purpose: MacPurpose,
  { digits = MAC_DIGITS, ledger = '' }: { readonly digits?: number; readonly ledger?: string } = {},
): MacKeys | undefined {
  const lines = ledgerKey ?? (service === undefined ? [] : [service.clientSecret]);
  const [first, ...former] = lines.map((line) => keyOf(line, ledger === '' ? purpose : `${purpose} of ${ledger}`));
  if (first === undefined) return undefined;
  const keys = new Map([...former.toReversed(), first].map((key) => [key.id, key]));
  return {
    sign: (text) => codeOf(first, text, digits),
    check(text, code) {
      const key = keys.get(code.slice(0, code.indexOf('.')));
      if (key === undefined) return 'unknown-key';
      const [expected, given] = [Buffer.from(codeOf(key, text, digits)), Buffer.from(code)];
      return expected.length === given.length && timingSafeEqual(expected, given) ? 'holds' : 'differs';
    },
  };
}

interface MacKey {
  readonly id: string;
  readonly secret: Buffer;
}

function keyOf(line: string, info: string): MacKey {
  const derived = Buffer.from(hkdfSync('sha256', line, 'payrun ledger key', info, KEY_BYTES + ID_BYTES));
  return { secret: derived.subarray(0, KEY_BYTES), id: derived.subarray(KEY_BYTES).toString('hex') };
}

function codeOf({ id, secret }: MacKey, text: string, digits: number): string {
  return `${id}.${createHmac('sha256', secret).update(text).digest('hex').slice(0, digits)}`;
}
