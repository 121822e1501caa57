import { crc32 } from 'node:zlib';
import { z } from 'zod';

/** What a payout counted as for the limits: days since 1970 where the limits' day begins, and `CURRENCY MINOR,…`. */
export interface Counted {
  readonly day: string;
  /** 16 hexadecimal digits. */
  readonly beneficiaryHash: string;
  readonly sums: string;
}

/** One arming as the intent log keeps it: enough to know that a payment request may have been sent, and for what. */
export interface IntentLine {
  readonly runId: string;
  readonly line: number;
  readonly fileSha256: string;
  /** Of the rows of the file, in hexadecimal; absent in lines of an earlier payrun. */
  readonly contentHash?: string | undefined;
  /** What it counted as for the limits; absent where nothing was counted. */
  readonly counted?: Counted | undefined;
  readonly referenceHash: string;
  readonly attempt: number;
  readonly quoteId: string;
  readonly quoteExpiresAt: number | null;
  readonly bodyHash: string;
  readonly armingCounter: number;
  readonly owner: string;
  readonly armedAt: number;
  readonly credentials: string;
}

/** That the service began to say yes to a payment request: its quote is never proven dead (architecture.md, rule 8). */
export interface AnswerLine {
  readonly quoteId: string;
  /** Null where the answer broke off before it named one. */
  readonly paymentId: string | null;
  /** People named the payment, and nothing ties it to our request: it says nothing of the service. */
  readonly isNamed?: true | undefined;
  /** Of the payout, which takes it back where it had come to nothing. */
  readonly referenceHash?: string | undefined;
  /** When the payout had come to nothing, in Redis's milliseconds since 1970: a ledger in which it still has learns it anew. */
  readonly overturns?: number | undefined;
}

export type LogLine = IntentLine | AnswerLine;

/** Whether the line is an arming. */
export function isIntent(line: LogLine): line is IntentLine {
  return 'armingCounter' in line;
}

const answer = z.strictObject({
  quoteId: z.string().min(1),
  paymentId: z.string().min(1).nullable(),
  isNamed: z.literal(true).optional(),
  referenceHash: z.string().optional(),
  overturns: z.int().optional(),
});
const intent = z.strictObject({
  runId: z.string().min(1),
  line: z.int().positive(),
  fileSha256: z.string(),
  contentHash: z.string().optional(),
  counted: z.strictObject({ day: z.string(), beneficiaryHash: z.string(), sums: z.string() }).optional(),
  referenceHash: z.string(),
  attempt: z.int().positive(),
  quoteId: z.string().min(1),
  quoteExpiresAt: z.int().nullable(),
  bodyHash: z.string(),
  armingCounter: z.int().positive(),
  owner: z.string(),
  armedAt: z.int(),
  credentials: z.string(),
});
const schema = z.union([intent, answer]);

/** A line of the log: a line end first, so that a torn line before it cannot swallow it; length; checksum; JSON. */
export function writeIntentLine(line: LogLine): string {
  const json = JSON.stringify(line);
  return `\n${Buffer.byteLength(json)} ${crc32(json).toString(16).padStart(8, '0')} ${json}`;
}

/** One line of the log without its line end; undefined when it is damaged. */
export function readIntentLine(part: string): LogLine | undefined {
  const match = /^([0-9]+) ([0-9a-f]{8}) (.*)$/.exec(part);
  const json = match?.[3];
  if (match === null || json === undefined) return undefined;
  if (Buffer.byteLength(json) !== Number.parseInt(match[1] ?? '', 10)) return undefined;
  if (crc32(json) !== Number.parseInt(match[2] ?? '', 16)) return undefined;
  const parsed = schema.safeParse(JSON.parse(json));
  return parsed.success ? parsed.data : undefined;
}

/** Whether a damaged line holds more than it declares: the line end after it is damaged too, and hides another line. */
export function isOverlong(part: string): boolean {
  const match = /^([0-9]+) [0-9a-f]{8} (.*)$/.exec(part);
  return match !== null && Buffer.byteLength(match[2] ?? '') > Number.parseInt(match[1] ?? '', 10);
}
