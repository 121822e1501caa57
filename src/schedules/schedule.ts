import { z } from 'zod';
import { stageSizes } from '../config/stages.ts';
import { duration } from '../duration.ts';
import type { StoredSchedule } from '../ledger/schedules.ts';
import { LedgerFault } from '../ledger/script.ts';
import type { StagePlan } from '../payout.ts';

/** Reads a folder; its files are paid in these stages, or as the settings say. */
export interface InboxAct {
  readonly kind: 'inbox';
  readonly dir: string;
  readonly stages?: StagePlan | undefined;
}

/** What a schedule may do. */
export type Act = InboxAct | { readonly kind: 'start' | 'look-up' | 'purge' };

/** A schedule as the ledger keeps it. */
export interface Schedule {
  readonly cron: string;
  /** Name in the IANA time zone database. */
  readonly zone: string;
  readonly act: Act;
  /** So long after its planned time an act that could not be done in time is still done. */
  readonly windowMs: number;
}

const DIR_CHARACTERS_MAX = 1000;
const WINDOW_MS_MIN = 60_000;
const WINDOW_MS_MAX = 7 * 24 * 60 * 60 * 1000;

/** A schedule's name, as commands and the audit log have it. */
export const scheduleName = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9_-]{0,39}$/,
    'must have 1 to 40 letters, digits, _ or -, and begin with a letter or digit',
  );

/** `inbox:DIR`, `start`, `look-up` or `purge`. DIR may be an address, without a password: it is shown to everybody. */
export const actText = z.string().transform((text, context): Act => {
  if (text === 'start' || text === 'look-up' || text === 'purge') return { kind: text };
  const dir = /^inbox:(.+)$/s.exec(text)?.[1] ?? '';
  const isPlain = dir !== '' && dir.length <= DIR_CHARACTERS_MAX && !/\p{Cc}/u.test(dir);
  if (isPlain && !hasPassword(dir)) return { kind: 'inbox', dir };
  // What is refused may hold a password, so it is not repeated.
  context.addIssue(isPlain ? 'must name an inbox without a password' : 'must be inbox:DIR, start, look-up or purge');
  return z.NEVER;
});

const AUTHORITY = /^\s*[a-z][a-z0-9+.-]*:\/\/([^/]*)/i;

function hasPassword(dir: string): boolean {
  const [user, ...host] = (AUTHORITY.exec(dir)?.[1] ?? '').split('@');
  return host.length > 0 && user?.includes(':') === true;
}

export const windowText = duration.refine((ms) => ms >= WINDOW_MS_MIN && ms <= WINDOW_MS_MAX, {
  error: 'must be from 1m to 7d',
});

/** An act as it is given. */
export function actWords(act: Act): string {
  return act.kind === 'inbox' ? `inbox:${act.dir}` : act.kind;
}

/** The stages of an act; null where it has none of its own. */
export function stagesOfAct(act: Act): StagePlan | null {
  return (act.kind === 'inbox' ? act.stages : undefined) ?? null;
}

/** An act for people, with its stages. */
export function doesWords(does: string, stages: StagePlan | null): string {
  if (stages === null) return does;
  return `${does} in stages ${stages.sizes}${stages.goesOnIfPaid ? ', each going on by itself if all was paid' : ''}`;
}

const definition = z.strictObject({
  cron: z.string(),
  zone: z.string(),
  do: actText,
  stages: z.strictObject({ sizes: stageSizes, goesOnIfPaid: z.boolean() }).optional(),
  windowMs: z.int().positive(),
});

/** The one text of a schedule, by which the ledger tells whether it is still the same. */
export function writeSchedule({ cron, zone, act, windowMs }: Schedule): string {
  return JSON.stringify({ cron, zone, do: actWords(act), stages: stagesOfAct(act) ?? undefined, windowMs });
}

/** Throws a LedgerFault for what this payrun did not write. */
export function readSchedule({ name, definition: text }: Pick<StoredSchedule, 'name' | 'definition'>): Schedule {
  try {
    const { do: act, stages, ...rest } = definition.parse(JSON.parse(text));
    return { ...rest, act: act.kind === 'inbox' && stages !== undefined ? { ...act, stages } : act };
  } catch (cause) {
    throw new LedgerFault(`schedule ${name} is not one that this payrun knows`, { cause });
  }
}
