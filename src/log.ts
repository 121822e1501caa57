import { isatty } from 'node:tty';
import { destination, type Logger as PinoLogger, pino } from 'pino';
import type { LogLevel } from './config/config.ts';

/**
 * The fields that a log line may carry. Nothing else reaches the log: no names, no amounts, no ids of people, no
 * bodies, no headers, no tokens (docs/security.md).
 */
const FIELDS = [
  'run',
  'payout',
  'line',
  'job',
  'request',
  'operation',
  'status',
  'class',
  'code',
  'reason',
  'count',
  'ms',
  'actor',
  'from',
  'to',
] as const;

export type LogFields = { readonly [Field in (typeof FIELDS)[number]]?: string | number } & {
  /** Only the error's name, code and message are written. */
  readonly error?: unknown;
};

export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

/** What a full disk may keep waiting; further lines are lost. */
const WAITING_CHARACTERS_MAX = 1024 * 1024;

/** Structured logs on standard error, one JSON object a line; words on a terminal. Where they cannot be written, lines are lost and nothing else. */
export function openLog(level: LogLevel): Log {
  const stream = destination({ fd: 2, sync: true, maxLength: WAITING_CHARACTERS_MAX });
  stream.on('error', () => {});
  // At the end it would try again and again to write what is left.
  stream.once('error', () => process.prependOnceListener('exit', () => stream.destroy()));
  const lines = isatty(2) ? { write: (line: string) => stream.write(inWords(line)) } : stream;
  const logger: PinoLogger = pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, lines);
  return {
    debug(message, fields) {
      if (logger.isLevelEnabled('debug')) logger.debug(written(fields), message);
    },
    info: (message, fields) => logger.info(written(fields), message),
    warn: (message, fields) => logger.warn(written(fields), message),
    error: (message, fields) => logger.error(written(fields), message),
  };
}

/** A line as a person reads it: when, how bad, what, and the fields, each still in JSON, so that nothing in it steers the terminal. */
function inWords(line: string): string {
  const read: unknown = JSON.parse(line);
  const { time, level, msg, ...fields } = Object.fromEntries(new Map<string, unknown>(Object.entries(read ?? {})));
  const named = Object.entries(fields).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  const message = JSON.stringify(msg).slice(1, -1);
  return `${[time, pino.levels.labels[Number(level)], message, ...named].join(' ')}\n`;
}

const REPEATED_MS = 60_000;
const REPEATED_KEPT_MAX = 1000;

/** Runs, and in their jobs' names the lines. */
const OF_A_RUN = /\b[0-9]{8}-[a-z0-9]{6}(-[0-9]+)*/g;

/** The same log for a person who reads it: a fault like one of the last minute, whichever payout or job it is of, is not written again. */
export function withoutRepeats(log: Log, now: () => number): Log {
  const writtenAt = new Map<string, number>();
  const unrepeated =
    (level: 'warn' | 'error'): Log[typeof level] =>
    (message, fields) => {
      const { error = '' } = written(fields);
      const key = JSON.stringify([message, fields?.reason, fields?.job, String(error).replaceAll(OF_A_RUN, '')]);
      const at = now();
      if (at - (writtenAt.get(key) ?? Number.NEGATIVE_INFINITY) < REPEATED_MS) return;
      if (writtenAt.size >= REPEATED_KEPT_MAX) writtenAt.clear();
      writtenAt.set(key, at);
      log[level](message, fields);
    };
  return { ...log, warn: unrepeated('warn'), error: unrepeated('error') };
}

/** The same log where many payouts meet one fault at a moment: a warning with an `error` is not written again in the next minute. */
export function withoutRepeatedFaults(log: Log, now: () => number): Log {
  const unrepeated = withoutRepeats(log, now);
  return {
    ...log,
    warn: (message, fields) => (fields?.error === undefined ? log : unrepeated).warn(message, fields),
  };
}

/** A log that says nothing. */
export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} };

function written(fields: LogFields = {}): Record<string, string | number> {
  const line: Record<string, string | number> = {};
  for (const field of FIELDS) {
    const value = fields[field];
    if (value !== undefined) line[field] = typeof value === 'string' ? withoutSteering(value) : value;
  }
  const { error } = fields;
  if (error === undefined) return line;
  if (!(error instanceof Error)) return { ...line, error: typeof error };
  const code = 'code' in error && typeof error.code === 'string' ? { errorCode: error.code } : {};
  return { ...line, error: withoutSteering(`${error.name}: ${error.message}`), ...code };
}

/** JSON escapes C0 controls; C1 controls, bidi marks and line separators would reach a terminal as they are. */
function withoutSteering(text: string): string {
  return text.replace(
    /[\u007f-\u009f\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, '0')}`,
  );
}
