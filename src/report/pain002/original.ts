import { createHash } from 'node:crypto';
import { messageIn } from '../../intake/csv/layout.ts';
import { type Format, formatOf } from '../../intake/formats.ts';
import { type MessageVersion, versionNamed, versionOf } from '../../intake/pain001/versions.ts';
import { openPayoutSource, type PayoutSource } from '../../intake/payout-source.ts';
import type { Run } from '../../payout.ts';
import { Refusal } from '../../refusal.ts';
import { type MessageIds, type OriginalIds, readMessageIds } from './message-ids.ts';

/** What a status report answers. */
export interface Original {
  readonly messageId: string;
  readonly messageName: string;
  /** The status report of its version. */
  readonly statusReport: string;
  /** The ids of the row on a line; each line asked for is above the one before it. */
  idsOf(line: number): OriginalIds | Promise<OriginalIds>;
}

/** ISO 20022's word for an id that is not there. */
export const NOT_PROVIDED = 'NOTPROVIDED';

/** For what is no payment message, or one whose version was not kept: runs of earlier versions of payrun have none. */
const STATUS_REPORT = 'pain.002.001.10';

const NAMES: Readonly<Record<Format, string>> = {
  csv: 'payout file (CSV)',
  xlsx: 'payout file (XLSX)',
  'pain.001': 'pain.001',
};

/**
 * What the run was made of. Of a payment message its version is kept, and its own ids are not: they are read from the message
 * itself, where it is named; a payout file has none, and its run's id stands for them. Throws a Refusal for a message that is
 * not the run's, (file refused) for one that cannot be read.
 */
export async function originalOf(run: Run, path: string | undefined): Promise<Original> {
  const format = formatOf(run.fileName);
  if (path !== undefined) return await readOriginal(run, path);
  const id = format === 'pain.001' ? NOT_PROVIDED : run.id;
  const ids = { paymentId: id, instructionId: null };
  const version = versionNamed(messageIn(run.columns) ?? '');
  return {
    messageName: version?.name ?? NAMES[format],
    statusReport: version?.statusReport ?? STATUS_REPORT,
    messageId: id,
    idsOf: () => ids,
  };
}

/** The message is read twice: to see that it is the one, and beside the rows of the run. */
async function readOriginal(run: Run, path: string): Promise<Original> {
  const source = await openPayoutSource(path);
  if (formatOf(run.fileName) !== 'pain.001') throw refuseOriginal(`Run ${run.id} was not made of a payment message.`);
  if ((await digestOf(source)) !== run.fileSha256) {
    throw refuseOriginal(`${path} is not the file that run ${run.id} was made of.`);
  }
  const transfers = readMessageIds(source.chunks());
  let current = await nextOf(transfers, run);
  const { name, statusReport } = versionIn(current, run);
  return {
    messageName: name,
    statusReport,
    messageId: current.messageId,
    async idsOf(line) {
      while (current.line < line) current = await nextOf(transfers, run);
      return current;
    },
  };
}

function versionIn({ namespace }: MessageIds, run: Run): MessageVersion {
  const version = versionOf(namespace);
  if (version !== undefined) return version;
  throw new Error(`the message of run ${run.id} is of a version that is not read`);
}

async function nextOf(transfers: AsyncGenerator<MessageIds, void>, run: Run): Promise<MessageIds> {
  const next = await transfers.next();
  // Runs of earlier versions may have been made of messages without.
  if (next.done !== true) return { ...next.value, paymentId: next.value.paymentId || NOT_PROVIDED };
  throw new Error(`the message of run ${run.id} has fewer transfers than the run has rows`);
}

async function digestOf(source: PayoutSource): Promise<string> {
  const sha256 = createHash('sha256');
  for await (const chunk of source.chunks()) sha256.update(chunk);
  return sha256.digest('hex');
}

function refuseOriginal(message: string): Refusal {
  return new Refusal(message, 'Name the payment message itself with --original, unchanged, or leave the option out.');
}
