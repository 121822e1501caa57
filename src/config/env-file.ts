import { lstatSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { codeOf, Refusal } from '../refusal.ts';
import { readSecretFile } from '../secret-file.ts';
import type { EnvironmentVariables } from './config.ts';
import { noSuchSetting } from './problems.ts';

/** Read where it lies in the working folder, unless another file is named. */
export const ENV_FILE_DEFAULT = 'payrun.env';

/** What may stand in the file for payrun; all else in it is for others. */
const OWN_NAME = /^(PAYRUN_|REDIS_URL|OTEL_)/;
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

type Variables = Record<string, string>;

/**
 * Puts the settings of the file at `path` into the environment of this process, without it those of `payrun.env` in the
 * working folder if that is there. What the environment has already, under the name or as NAME_FILE, stays. Throws a
 * Refusal for a file that cannot be read, that others may read, or with a line that is not NAME=value or sets a name again.
 */
export function loadEnvFile(path: string | undefined, environment: NodeJS.ProcessEnv): void {
  for (const [name, value] of Object.entries(readEnvFile(path))) {
    if (!isSet(name, environment)) environment[name] = value;
  }
}

/** The settings that the file has, as `loadEnvFile` reads them; none where there is no file. */
export function readEnvFile(path: string | undefined): EnvironmentVariables {
  if (path === undefined && !isOurDefault()) return {};
  const file = path ?? ENV_FILE_DEFAULT;
  const read = readSecretFile(file);
  if ('problem' in read) throw refuseFile(file, read.problem.replace('the file that it names', 'it'));
  requireLines(file, read.text.split('\n'));
  const variables: Variables = {};
  for (const [name, value] of Object.entries(parseEnv(read.text))) {
    if (OWN_NAME.test(name) && value !== undefined) variables[name] = value;
    else if (noSuchSetting(name, ['REDIS_URL']).includes('did you mean'))
      throw refuseFile(file, `it has ${noSuchSetting(name, ['REDIS_URL'])}`);
  }
  return variables;
}

/** Throws a Refusal for a line that is none, and for a setting that another line would undo unseen. */
function requireLines(file: string, lines: readonly string[]): void {
  const seen = new Set<string>();
  for (const [at, line] of lines.entries()) {
    if (!isLine(line.trim())) throw refuseFile(file, `line ${at + 1} is not NAME=value`);
    const [, name = ''] = /^(?:export\s+)?([A-Z_0-9]+)=/.exec(line.trim()) ?? [];
    if (OWN_NAME.test(name) && seen.has(name)) throw refuseFile(file, `line ${at + 1} sets ${name} again`);
    seen.add(name);
  }
}

/** Whether a line is empty, a comment, or NAME=value, where a value that begins with a quotation mark ends with it. */
function isLine(line: string): boolean {
  if (line === '' || line.startsWith('#')) return true;
  const assigned = line.startsWith('export ') ? line.slice('export '.length).trimStart() : line;
  const end = assigned.indexOf('=');
  const value = assigned.slice(end + 1);
  const isQuoted = value.startsWith('"') || value.startsWith("'");
  return (
    end > 0 && NAME.test(assigned.slice(0, end)) && (!isQuoted || (value.length > 1 && value.endsWith(value.charAt(0))))
  );
}

/** Settings as the text of such a file. Throws a Refusal for a value that cannot stand in one. */
export function envFileText(settings: Readonly<Record<string, string>>): string {
  const lines = Object.entries(settings).map(([name, value]) => {
    const quote = ["'", '"'].find((one) => !value.includes(one));
    if (quote === undefined || /[\r\n\\]/.test(value)) {
      throw new Refusal(
        `The value of ${name} cannot stand in a line of a file of settings.`,
        `Put it into a file of its own, and name that by ${name}_FILE.`,
      );
    }
    return `${name}=${quote}${value}${quote}\n`;
  });
  return lines.join('');
}

/** Whether the environment says this itself, in one of the two ways of `readConfig`. */
function isSet(name: string, environment: EnvironmentVariables): boolean {
  return [name, `${name}_FILE`, name.replace(/_FILE$/, '')].some((one) => environment[one] !== undefined);
}

/** Nobody named the default: a folder that others write to must not choose where money goes. */
function isOurDefault(): boolean {
  try {
    const { uid } = lstatSync(ENV_FILE_DEFAULT);
    if (uid === 0 || uid === process.getuid?.()) return true;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false;
    throw error;
  }
  throw refuseFile(
    ENV_FILE_DEFAULT,
    'it belongs to another user: start payrun as that user, or give it to this one with chown',
  );
}

function refuseFile(path: string, problem: string): Refusal {
  return new Refusal(
    `The file of settings ${path} is not taken: ${problem}.`,
    'Correct it, or name another with --env-file.',
  );
}
