import type { Config } from '../../../config/config.ts';
import type { DataDir } from '../../../ledger/intents/data-dir.ts';
import { Refusal } from '../../../refusal.ts';
import { remedyInCommands } from '../../command-words.ts';
import { EXIT } from '../../exit-code.ts';
import { explain } from '../../explain.ts';
import type { KnownCapabilities } from './capability-check.ts';

/** In the order in which they are told: the first fault explains the later ones. */
export const CHECKS = [
  'Node',
  'settings',
  'data directory',
  'disk space',
  'intent logs',
  'Redis',
  'Redis access',
  'Redis durability',
  'ledger',
  'safety settings',
  'season',
  'halt',
  'clock',
  'workers',
  'service',
  'access token',
  'capabilities',
] as const;
export type CheckName = (typeof CHECKS)[number];

/** What one check came to. `found` and `remedy` may have several lines. */
export interface Finding {
  readonly check: CheckName;
  readonly ok: boolean;
  readonly found: string;
  /**
   * Null when there is nothing to do, or when something else has to be fixed before this can be looked at. Where it is
   * `ok` all the same, it is a warning.
   */
  readonly remedy: string | null;
  /** False where something before it must be fixed first. */
  readonly isLookedAt: boolean;
  /** Redis or the service cannot be reached. */
  readonly unreachable: boolean;
}

/** What a check found; a remedy says that it is not as it should be, advice what would be better. */
export interface Found {
  readonly found: string;
  readonly remedy?: string;
  readonly advice?: string;
}

/** Notes what a check came to, also when it throws. Gives the check's value, undefined when it has none. */
export type Check = <Value>(
  name: CheckName,
  look: () => Promise<Found & { readonly value?: Value }>,
) => Promise<Value | undefined>;

/** Collects findings; a later finding of the same name takes the place of an earlier one. */
export function openChecks(): { readonly check: Check; readonly findings: () => Finding[] } {
  const findings = new Map<CheckName, Finding>();
  return {
    async check(name, look) {
      try {
        const { found, remedy, advice, value } = await look();
        const ok = remedy === undefined;
        findings.set(name, {
          check: name,
          ok,
          found,
          remedy: remedy ?? advice ?? null,
          isLookedAt: true,
          unreachable: false,
        });
        return value;
      } catch (error) {
        findings.set(name, findingOf(name, error));
        return undefined;
      }
    },
    findings: () => CHECKS.map((name) => findings.get(name) ?? notLookedAt(name)),
  };
}

function findingOf(check: CheckName, error: unknown): Finding {
  const { text, exitCode } = explain(error);
  const [found, remedy] =
    error instanceof Refusal
      ? [error.message, remedyInCommands(error.next)]
      : [text, 'Fix what is named, then run the check again.'];
  return { check, ok: false, found, remedy, isLookedAt: true, unreachable: exitCode === EXIT.unavailable };
}

function notLookedAt(check: CheckName): Finding {
  return {
    check,
    ok: false,
    found: 'what fails above comes first',
    remedy: null,
    isLookedAt: false,
    unreachable: false,
  };
}

/** Whether a version like `7.0.15` is at least the given major and minor one. */
export function isAtLeast(version: string, [major, minor]: readonly [number, number]): boolean {
  const [foundMajor = 0, foundMinor = 0] = version.split('.').map((part) => Number.parseInt(part, 10));
  return foundMajor > major || (foundMajor === major && foundMinor >= minor);
}

/** What is examined, and where the findings go. */
export interface Place {
  readonly check: Check;
  readonly config: Config;
  readonly folder: DataDir;
  /** Undefined when they cannot be read. */
  readonly capabilities: KnownCapabilities | undefined;
}
