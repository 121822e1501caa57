import { createHash } from 'node:crypto';
import type { EnvironmentVariables } from './config.ts';
import { ENV_FILE_DEFAULT, readEnvFile } from './env-file.ts';
import { plainText, SETTINGS } from './setting-lines.ts';

const FINGERPRINT_DIGITS = 12;
/** Addresses that may hold a password. */
const ADDRESSES: ReadonlySet<string> = new Set(['REDIS_URL', 'PAYRUN_PROXY', 'PAYRUN_SERVICE_URL']);

export interface SettingSource {
  readonly name: string;
  /** As it was set, or what holds without; of a secret its fingerprint. */
  readonly value: string;
  /** Where it comes from: `environment`, `default`, or the path of a file of settings. */
  readonly from: string;
}

/** Each setting with its value and where this process has it from, once `loadEnvFile` has read the file at `envFile`. */
export function sourcesOf(envFile: string | undefined, environment: EnvironmentVariables): readonly SettingSource[] {
  const inFile = readEnvFile(envFile);
  return SETTINGS.map(({ name: setting, standard, isSecret }) => {
    const name = [setting, `${setting}_FILE`].find((one) => environment[one] !== undefined);
    const value = name === undefined ? undefined : environment[name];
    if (name === undefined || value === undefined)
      return { name: setting, value: plainText(standard), from: 'default' };
    const from = inFile[name] === value ? (envFile ?? ENV_FILE_DEFAULT) : 'environment';
    // Of a secret in a file the path is shown.
    return { name, value: isSecret && name === setting ? fingerprintOf(value) : shownValue(name, value), from };
  });
}

/** Without the password that an address may hold. */
function shownValue(name: string, value: string): string {
  if (!ADDRESSES.has(name)) return value;
  const start = value.indexOf('//') + 2;
  const authority = value.slice(start).split('/', 1)[0] ?? '';
  const [colon, end] = [authority.indexOf(':'), authority.lastIndexOf('@')];
  if (start < 2 || colon < 0 || end < colon) return value;
  const password = authority.slice(colon + 1, end);
  return `${value.slice(0, start + colon + 1)}(${fingerprintOf(password)})${value.slice(start + end)}`;
}

/** The same secret has the same fingerprint, and nobody learns it from there. */
function fingerprintOf(secret: string): string {
  return `sha256 ${createHash('sha256').update(secret).digest('hex').slice(0, FINGERPRINT_DIGITS)}`;
}
