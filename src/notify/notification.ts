import { createHash } from 'node:crypto';
import { z } from 'zod';
import { rfc3339 } from '../clock.ts';
import { EVENTS, type NotifyEvent } from '../config/notify.ts';
import { OUTCOMES, type PayoutPlace, payoutId, RUN_STATES, type Run } from '../payout.ts';
import { runDocument } from '../report/document.ts';
import { jsonText } from '../report/json-text.ts';

/** What an endpoint is told, whatever events it is to get, when somebody tries it. */
const TEST = 'test';

const REASON_CHARACTERS_MAX = 500;

const fileSchema = z.object({ name: z.string(), sha256: z.string(), rows: z.int() });
const runSchema = z.object({
  state: z.enum(RUN_STATES),
  file: fileSchema,
  outcomes: z.record(z.enum(OUTCOMES), z.int()),
  totals: z.array(z.object({ currency: z.string(), file: z.string() }).and(z.record(z.enum(OUTCOMES), z.string()))),
});

/** What a receiver gets. Counts are numbers, money is decimal text, times are RFC 3339 UTC, what does not apply is null. */
export const notificationSchema = z.object({
  /** The same at each try; made from all that the notification says, of a payout from what became of it and when. */
  id: z.string(),
  event: z.enum([...EVENTS, TEST]),
  /** When it happened, or was seen. */
  at: z.string(),
  environment: z.enum(['test', 'prod']),
  /** True where no money moves. */
  sandbox: z.boolean(),
  runId: z.string().nullable(),
  /** The run as it was when this was announced. */
  run: runSchema.nullable(),
  reason: z.string().nullable(),
  /** Payouts in the state that the event names: all of them, and those that came since it was last announced. */
  payouts: z.object({ count: z.int(), new: z.int(), olderThanDays: z.number().nullable() }).nullable(),
  /** The one payout that an event of payouts is about, as the id that payrun gives it and its line in the file. */
  payout: z.object({ id: z.string(), line: z.int() }).nullable().default(null),
  waitingSince: z.string().nullable(),
  refused: z.object({ file: fileSchema, problems: z.array(z.object({ code: z.string(), count: z.int() })) }).nullable(),
  disks: z.array(z.object({ folder: z.string(), freeBytes: z.number(), freeBytesMin: z.number() })).nullable(),
  /** The audit log's last entry when this was told, `NUMBER:HASH`: a later look at the log can be held against it. */
  auditHead: z.string().nullable().default(null),
});
export type Notification = z.infer<typeof notificationSchema>;

/** A notification that is still to be put into its words. */
export interface Draft {
  readonly event: NotifyEvent;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly run?: Run;
  readonly reason?: string;
  readonly payouts?: { readonly count: number; readonly new: number; readonly olderThanDays?: number };
  readonly payout?: PayoutPlace;
  /** The one endpoint that gets it; all that want it unless given. */
  readonly to?: string;
  readonly waitingSince?: number;
  readonly refused?: NonNullable<Notification['refused']>;
  readonly disks?: NonNullable<Notification['disks']>;
}

/** Where notifications come from. */
export interface Origin {
  readonly environment: 'test' | 'prod';
  readonly sandbox: boolean;
  /** The ledger's instance: two ledgers never give the same id. */
  readonly instance: string;
  readonly auditHead: string | null;
}

/** The text of a notification: what is signed, sent, and kept until then. */
export function writeNotification(
  draft: Omit<Draft, 'event'> & Pick<Notification, 'event'>,
  { environment, sandbox, instance, auditHead }: Origin,
): string {
  const { event, run, payouts, payout, waitingSince } = draft;
  const said: Omit<Notification, 'id'> = {
    event,
    at: rfc3339(draft.at),
    environment,
    sandbox,
    runId: run?.id ?? payout?.runId ?? null,
    run: run === undefined ? null : runFacts(run, sandbox),
    reason: draft.reason?.slice(0, REASON_CHARACTERS_MAX) ?? null,
    payouts: payouts === undefined ? null : { olderThanDays: null, ...payouts },
    payout: payoutFacts(payout),
    waitingSince: waitingSince === undefined ? null : rfc3339(waitingSince),
    refused: draft.refused ?? null,
    disks: draft.disks ?? null,
    auditHead,
  };
  return jsonText({ id: idOf(said, instance), ...said } satisfies Notification);
}

const ID_DIGITS = 32;

function idOf(said: Omit<Notification, 'id'>, instance: string): string {
  const { event, at, payout } = said;
  const facts = payout === null ? said : { event, at, payout };
  return createHash('sha256').update(instance).update(JSON.stringify(facts)).digest('hex').slice(0, ID_DIGITS);
}

function payoutFacts(payout: PayoutPlace | undefined): Notification['payout'] {
  return payout === undefined ? null : { id: payoutId(payout), line: payout.line };
}

function runFacts(run: Run, sandbox: boolean): NonNullable<Notification['run']> {
  const { state, file, outcomes, totals } = runDocument(run, { sandbox, capabilities: {}, reports: [] });
  return { state, file, outcomes, totals };
}

/** A notification as it stands in the outbox. Throws what zod throws when it is none. */
export function readNotification(body: string): Notification {
  return notificationSchema.parse(JSON.parse(body));
}
