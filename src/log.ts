import { destination, type Logger as PinoLogger, pino } from 'pino';
import type { LogLevel } from './config.ts';

/**
 * The fields that a log line may carry. Nothing else reaches the log: no names, no amounts, no ids of people, no
 * bodies, no headers, no tokens (security.md S30).
 */
export interface LogFields {
  readonly run?: string;
  readonly payout?: string;
  readonly line?: number;
  readonly job?: string;
  readonly operation?: string;
  readonly status?: number;
  readonly class?: string;
  readonly code?: string;
  readonly reason?: string;
  readonly count?: number;
  readonly ms?: number;
  readonly actor?: string;
  readonly from?: string;
  readonly to?: string;
  /** Only the error's name, code and message are written. */
  readonly error?: unknown;
}

export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

/** Structured logs on standard error, one JSON object a line. */
export function openLog(level: LogLevel): Log {
  const logger: PinoLogger = pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, destination(2));
  return {
    debug: (message, fields) => logger.debug(written(fields), message),
    info: (message, fields) => logger.info(written(fields), message),
    warn: (message, fields) => logger.warn(written(fields), message),
    error: (message, fields) => logger.error(written(fields), message),
  };
}

/** A log that says nothing. */
export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} };

function written(fields: LogFields | undefined): Record<string, unknown> {
  if (fields === undefined) return {};
  const { error, ...rest } = fields;
  if (error === undefined) return rest;
  if (!(error instanceof Error)) return { ...rest, error: typeof error };
  const code = 'code' in error && typeof error.code === 'string' ? { errorCode: error.code } : {};
  return { ...rest, error: `${error.name}: ${error.message}`, ...code };
}
