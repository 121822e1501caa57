import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { z } from 'zod';
import { codeOf } from '../refusal.ts';

/* What settings may hold, apart from durations: each as a schema that reads the text of a variable. `takes` is for docs/settings.md. */

/** What docs/settings.md says of a setting. */
export interface SettingText extends Record<string, unknown> {
  readonly section:
    | 'The service'
    | 'Redis and files'
    | 'Speed'
    | 'Safety'
    | 'Payout files'
    | 'Reports and records'
    | 'Logs and metrics';
  /** The default, as one would write it; empty where the setting must be set. */
  readonly standard: string;
  readonly description: string;
  /** Shown by its fingerprint only. */
  readonly isSecret?: boolean;
}

export function integer(min: number, max: number): z.ZodType<number, string> {
  return z
    .string()
    .transform((text, context) => {
      const value = /^[0-9]{1,9}$/.test(text) ? Number.parseInt(text, 10) : Number.NaN;
      if (!(value >= min && value <= max)) {
        context.addIssue(`"${text}" is not an integer from ${min} to ${max}`);
        return z.NEVER;
      }
      return value;
    })
    .meta({ takes: `${min} to ${max}` });
}

export function oneOf<const T extends readonly string[]>(values: T): z.ZodType<T[number], string> {
  return z
    .string()
    .refine((text): text is T[number] => values.includes(text), { error: `must be one of: ${values.join(', ')}` })
    .meta({ takes: values.map((value) => `\`${value}\``).join(', ') });
}

const KEY_CHARACTERS_MIN = 32;

/** Secrets, one a line. The first one is used, those after it may be former ones, of any length. */
export const keyLines = z
  .string()
  .transform((value) => value.split(/\r?\n/))
  .refine(([first = '']) => first.length >= KEY_CHARACTERS_MIN, {
    error: `must begin with a line of at least ${KEY_CHARACTERS_MIN} characters, such as "openssl rand -hex 32" makes`,
    abort: true,
  })
  .refine((lines) => !lines.includes(''), { error: 'must hold one key a line, and no empty line' })
  .meta({ takes: 'one key a line, the first of at least 32 characters' });

export const text = z.string().min(1, 'must not be empty');
export const filePath = text.meta({ takes: 'a path' });

const BREAKER_OF_MAX = 1000;

export const breaker = z
  .string()
  .transform((value, context) => {
    if (value === 'off') return null;
    const match = /^([1-9][0-9]{0,3})\/([1-9][0-9]{0,3})$/.exec(value);
    const [bad, of] = [Number.parseInt(match?.[1] ?? '', 10), Number.parseInt(match?.[2] ?? '', 10)];
    if (!(bad <= of && of <= BREAKER_OF_MAX)) {
      context.addIssue(`must be off, or a share of the last payments, for example 100/200 (at most ${BREAKER_OF_MAX})`);
      return z.NEVER;
    }
    return { bad, of };
  })
  .meta({ takes: '`off`, or two numbers up to 1000' });

/** Of one server as a URL; of several, which URLs do not know, only its beginning is looked at here. */
export const redisAddress = z
  .string()
  .refine(
    (address) =>
      /^rediss?\+(sentinel|cluster):\/\/[^/]/.test(address) ||
      (/^(redis|rediss|unix):/.test(address) && URL.canParse(address)),
    { error: 'must be a redis://, rediss://, unix://, redis+sentinel:// or redis+cluster:// address' },
  )
  .meta({ takes: '`redis://`, `rediss://`, `unix://`, `redis+sentinel://`, `redis+cluster://`' });

/** What is wrong in prod: an address over the network, this host's own included, that gives no password. */
export function openRedisProblems(address: string | undefined): string[] {
  const isGuarded =
    address === undefined || address.startsWith('unix:') || /^[a-z+]+:\/\/[^@/?#:]*:[^@/?#]+@/.test(address);
  if (isGuarded) return [];
  return [
    'REDIS_URL: prod takes Redis over the network, this host included, only with a password: ' +
      'redis://user:password@host:6379, best in a file that REDIS_URL_FILE names; or by a socket: unix:///path/to/socket',
  ];
}

export const proxyAddress = z
  .url({ protocol: /^https?$/, error: 'must be an http:// or https:// address', abort: true })
  .refine((address) => isPlainAddress(new URL(address)), {
    error: 'must be an address without path, query or fragment, its credentials URL-encoded',
  })
  .meta({ takes: '`http://` or `https://`' });

function isPlainAddress({ pathname, search, hash, username, password }: URL): boolean {
  try {
    decodeURIComponent(`${username}:${password}`);
  } catch {
    return false;
  }
  return pathname === '/' && search === '' && hash === '';
}

/** The certificates of a PEM file. The path stays unsaid: it may be a secret that was set in the wrong place. */
export const certificateFile = z
  .string()
  .transform((path, context) => {
    try {
      const parts = readFileSync(path, 'utf8').split(/^(?=-----BEGIN )/m);
      const blocks = parts.filter((part) => part.startsWith('-----BEGIN '));
      if (blocks.length > 0) return blocks.map((block) => new X509Certificate(block).toString());
      context.addIssue('must name a file with certificates in PEM form; this one has none');
    } catch (error) {
      context.addIssue(`must name a file with certificates in PEM form (${codeOf(error) ?? 'unreadable'})`);
    }
    return z.NEVER;
  })
  .meta({ takes: 'a path' });

/** Fingerprints of host keys, as `ssh-keygen -l` shows them. */
export const hostKeys = z
  .string()
  .transform((list) => list.split(',').map((key) => key.trim()))
  .refine((keys) => keys.every((key) => /^SHA256:[A-Za-z0-9+/]{43}=?$/.test(key)), {
    error: 'must be the SHA256:… fingerprint of the host key, or several with commas between',
  })
  .meta({ takes: '`SHA256:…`, several with commas' });
