import { type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import type { Random } from '../clock.ts';
import { withLetters } from './common-passwords.ts';

const CHARACTERS_MIN = 8;
const CHARACTERS_MAX = 256;
/** NIST SP 800-63B-4, section 3.1.1.2, and OWASP ASVS 6.2.1. */
const CHARACTERS_ADVISED = 15;
/** Fewer different ones are a pattern, however long. */
const DIFFERENT_CHARACTERS_MIN = 4;
/** Of the steps from one character to the next. */
const SEQUENCE_SHARE = 0.8;

/** What a hash costs: 64 MiB, and some tenths of a second. One of the settings of OWASP's Password Storage cheat sheet. */
const COST = { N: 2 ** 16, r: 8, p: 2 } as const;
const SALT_BYTES = 16;
const HASH_BYTES = 32;
/** Together 128 MiB, and half of the threads that Node has for files and names. */
const AT_ONCE_MAX = 2;
/** Some seconds of work; whoever comes then is told to come again. */
const WAITING_MAX = 16;

type Row = 'strangers' | 'known';

export interface Passwords {
  /** `scrypt$N$r$p$salt$hash`, so that hashes outlive a change of the cost. */
  hash(password: string): Promise<string>;
  /**
   * Whether the password, exactly as it is given, has this hash; undefined: does the same work, and the answer is no.
   * `busy`: too many wait already, and nothing was done; known devices wait in a row of their own, which goes first. Throws
   * for a hash that `hash` did not make.
   */
  verify(password: string, hash: string | undefined, row?: Row): Promise<boolean | 'busy'>;
}

type Cost = Readonly<Record<'N' | 'r' | 'p', number>>;

/** Hashes passwords, a few at a time: one of these for each process. `cost` is for tests. */
export function openPasswords(random: Random, cost: Cost = COST): Passwords {
  const gate = openGate();
  const nobody = write(cost, random.bytes(SALT_BYTES), random.bytes(HASH_BYTES));
  return {
    async hash(password) {
      const salt = random.bytes(SALT_BYTES);
      return write(cost, salt, await gate.pass(() => derive(password, salt, cost)));
    },
    async verify(password, hash, row = 'strangers') {
      if (gate.waiting(row) >= WAITING_MAX) return 'busy';
      const { salt, expected, ...kept } = read(hash ?? nobody);
      const actual = await gate.pass(() => derive(password, salt, kept), row);
      return timingSafeEqual(actual, expected) && hash !== undefined;
    },
  };
}

/**
 * Why a password cannot be taken, with the remedy; undefined when it can. No rule asks for kinds of characters; `common` are
 * those that everybody tries first.
 */
export function passwordProblem(password: string, userName: string, common: ReadonlySet<string>): string | undefined {
  const characters = Array.from(password);
  if (characters.length < CHARACTERS_MIN) {
    return `The password has fewer than ${CHARACTERS_MIN} characters. Take at least ${CHARACTERS_MIN}; ${CHARACTERS_ADVISED} or more are better.`;
  }
  if (characters.length > CHARACTERS_MAX) {
    return `The password has more than ${CHARACTERS_MAX} characters. Take a shorter one.`;
  }
  if (
    new Set(characters).size < DIFFERENT_CHARACTERS_MIN ||
    isSequence(characters) ||
    isCommon(password, userName, common)
  ) {
    return `This password is one of the first that others would try. ${PASSWORD_ADVICE}`;
  }
  return undefined;
}

/** Shown where a password is chosen. */
export const PASSWORD_ADVICE = `Take at least ${CHARACTERS_ADVISED} characters, such as four or five words that do not belong together.`;

/** Whether a password that may be taken is shorter than is advised. */
export function isShortPassword(password: string): boolean {
  return Array.from(password).length < CHARACTERS_ADVISED;
}

/** Whether it is a common password, or such words alone, as people vary them. */
function isCommon(password: string, userName: string, common: ReadonlySet<string>): boolean {
  const own = ['payrun', userName.toLowerCase(), ...userName.toLowerCase().split(/[^\p{L}\p{N}]+/u)];
  const isKnown = (text: string): boolean => text !== '' && (common.has(text) || own.includes(text));
  const whole = password.toLowerCase();
  const [bare = ''] = /\p{L}(?:.*\p{L})?/su.exec(whole) ?? [];
  return [...variationsOf(whole)].some(isKnown) || [whole, bare].some((text) => isDoubled(text, isKnown));
}

/** So many characters that are no letters are cut off at an end one by one. */
const ENDS_MAX = 8;
const LETTER = /\p{L}/u;

/** The text without what people hang on to either end, with letters for signs, and read backwards. */
function variationsOf(text: string): Set<string> {
  const backwards = withoutEnds(text).flatMap((one) => withoutEnds(reversed(one)));
  const bare = [...backwards, ...backwards.map(reversed)];
  return new Set(bare.flatMap((one) => [one, ...withLetters(one)]));
}

/** The text with none, one and more characters cut off that are no letters, and with all of them. */
function withoutEnds(text: string): string[] {
  const characters = Array.from(text);
  const kept = characters.findLastIndex((character) => LETTER.test(character)) + 1;
  const ends = Array.from(
    { length: Math.min(characters.length - kept, ENDS_MAX) },
    (_, count) => characters.length - count,
  );
  return [...ends, kept].map((end) => characters.slice(0, end).join(''));
}

function reversed(text: string): string {
  return Array.from(text).toReversed().join('');
}

/** `annaanna`, `payrun-anna`, `passwordpassword`: nothing but such words. */
function isDoubled(text: string, isKnown: (text: string) => boolean): boolean {
  for (let at = 1; at < text.length; at++) {
    const [one, other] = [text.slice(0, at), text.slice(at).replace(/^[^\p{L}\p{N}]+/u, '')];
    if (isKnown(one) && isKnown(other)) return true;
  }
  return false;
}

/** `12345678`, `0987654321`, also when it begins anew: `1234512345`. */
function isSequence(characters: readonly string[]): boolean {
  const codes = characters.map((character) => character.codePointAt(0) ?? 0);
  const steps = codes.slice(1).map((code, index) => code - (codes[index] ?? 0));
  return [-1, 0, 1].some((step) => steps.filter((one) => one === step).length >= steps.length * SEQUENCE_SHARE);
}

/** Lets some through at a time, the known first, each row in the order in which they came. */
function openGate() {
  const rows: Readonly<Record<Row, (() => void)[]>> = { known: [], strangers: [] };
  let inside = 0;
  return {
    waiting: (row: Row) => rows[row].length,
    async pass<Result>(task: () => Promise<Result>, row: Row = 'strangers'): Promise<Result> {
      if (inside < AT_ONCE_MAX) inside++;
      else await new Promise<void>((resolve) => rows[row].push(resolve));
      try {
        return await task();
      } finally {
        const next = rows.known.shift() ?? rows.strangers.shift();
        // Whoever comes next takes this place over.
        if (next === undefined) inside--;
        else next();
      }
    },
  };
}

function derive(password: string, salt: Buffer, { N, r, p }: Cost): Promise<Buffer> {
  const options: ScryptOptions = { N, r, p, maxmem: 256 * N * r };
  return new Promise((resolve, reject) => {
    scrypt(password, salt, HASH_BYTES, options, (error, key) => (error === null ? resolve(key) : reject(error)));
  });
}

function write({ N, r, p }: Cost, salt: Buffer, hash: Buffer): string {
  return ['scrypt', N, r, p, salt.toString('base64url'), hash.toString('base64url')].join('$');
}

function read(text: string): Cost & { readonly salt: Buffer; readonly expected: Buffer } {
  const match = /^scrypt\$(\d{1,9})\$(\d{1,2})\$(\d{1,2})\$([\w-]+)\$([\w-]{43})$/.exec(text);
  if (match === null) throw new Error('a password hash is damaged');
  const [, N = '', r = '', p = '', salt = '', hash = ''] = match;
  return {
    N: Number.parseInt(N, 10),
    r: Number.parseInt(r, 10),
    p: Number.parseInt(p, 10),
    salt: Buffer.from(salt, 'base64url'),
    expected: Buffer.from(hash, 'base64url'),
  };
}
