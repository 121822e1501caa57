import { createReadStream } from 'node:fs';
import { Queue, Worker } from 'bullmq';
import { parse } from 'csv-parse';
import { Redis } from 'ioredis';

/*
 * The usual way to pay a file with BullMQ, as its documentation has it, to be compared with ours on the same input. A
 * process of its own. Each choice with the page that it is from:
 *
 *   a job per row, the row as its data           https://docs.bullmq.io/guide/jobs/job-data
 *   added in bulk                                https://docs.bullmq.io/guide/queues/adding-bulks
 *   three attempts, exponential back-off of 1 s  https://docs.bullmq.io/guide/retrying-failing-jobs
 *   completed and failed jobs are removed        https://docs.bullmq.io/guide/queues/auto-removal-of-jobs
 *   one worker with a concurrency factor         https://docs.bullmq.io/guide/workers/concurrency
 *   maxRetriesPerRequest: null, noeviction, AOF  https://docs.bullmq.io/guide/going-to-production
 *   `completed`, `failed`, `error` listeners     https://docs.bullmq.io/guide/workers
 *   fetch, which keeps connections alive         https://nodejs.org/api/globals.html#fetch
 *   a time limit for each request                https://developer.mozilla.org/en-US/docs/Web/API/AbortSignal/timeout_static
 *   a streaming parser                           https://csv.js.org/parse/api/async_iterator/
 *   status in a hash                             https://redis.io/docs/latest/develop/data-types/hashes/
 *
 * What a careful author would add without a page for it: the token is kept, and dropped on a 401, so that the retry asks for
 * another. Each attempt asks for a new quote: a quote is only good for seconds, and a retry may come later.
 */

interface Row {
  readonly reference: string;
  readonly beneficiaryIdentityId: string;
  readonly amount: string;
  readonly sourceCurrency: string;
  readonly destinationCurrency: string;
  readonly purposeCode: string;
}

/** How it is started: `node textbook.js '<JSON>'`. */
export interface TextbookOrder {
  readonly redisSocket: string;
  readonly prefix: string;
  readonly url: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly audience: string;
  readonly file: string;
  readonly inFlight: number;
  readonly requestTimeoutMs: number;
}

/** What it sends when every job is completed or failed for good. */
export interface TextbookEnd {
  readonly completed: number;
  readonly failed: number;
  /** Milliseconds from the start of the first job to the end of the last. */
  readonly ms: number;
}

const ROWS_PER_BULK = 1000;

const order = JSON.parse(process.argv[2] ?? '{}') as TextbookOrder;
const connection = new Redis({ path: order.redisSocket, maxRetriesPerRequest: null });
const statuses = `${order.prefix}:textbook-status`;
const queue = new Queue<Row>('payouts', {
  connection,
  prefix: order.prefix,
  defaultJobOptions: {
    attempts: 3,
    backoff: { type: 'exponential', delay: 1000 },
    removeOnComplete: true,
    removeOnFail: true,
  },
});
queue.on('error', (error) => process.stderr.write(`${error.message}\n`));

let token: Promise<string> | undefined;

async function fetchToken(): Promise<string> {
  const response = await fetch(`${order.url}/v2/oauth/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      grant_type: 'client_credentials',
      client_id: order.clientId,
      client_secret: order.clientSecret,
      audience: order.audience,
    }),
    signal: AbortSignal.timeout(order.requestTimeoutMs),
  });
  if (!response.ok) throw new Error(`token: ${response.status}`);
  return ((await response.json()) as { access_token: string }).access_token;
}

async function post<Answer>(path: string, body: object): Promise<Answer> {
  token ??= fetchToken().catch((error: unknown) => {
    token = undefined;
    throw error;
  });
  const response = await fetch(`${order.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${await token}` },
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(order.requestTimeoutMs),
  });
  if (response.status === 401) token = undefined;
  if (!response.ok) throw new Error(`${path}: ${response.status}`);
  return (await response.json()) as Answer;
}

async function payRow(row: Row): Promise<string> {
  const { quotes } = await post<{ quotes: { quoteId: string }[] }>('/v2/quotes/quote-collection', {
    quoteAmount: Number(row.amount),
    quoteAmountType: 'SOURCE_AMOUNT',
    sourceCurrency: row.sourceCurrency,
    destinationCurrency: row.destinationCurrency,
    payoutCategory: 'BANK',
    payinCategory: 'PRE_FUNDING',
  });
  const quoteId = quotes[0]?.quoteId;
  if (quoteId === undefined) throw new Error('no quote');
  const { paymentId } = await post<{ paymentId: string }>('/v2/payments', {
    quoteId,
    beneficiaryIdentityId: row.beneficiaryIdentityId,
    internalId: row.reference,
    purposeCode: row.purposeCode,
  });
  return paymentId;
}

let rows = 0;
let completed = 0;
let failed = 0;
let startedAt = 0;
let isAdded = false;

function end(): void {
  if (!isAdded || completed + failed < rows) return;
  process.send?.({ completed, failed, ms: performance.now() - startedAt } satisfies TextbookEnd);
}

async function giveUp(reference: string, { message }: Error): Promise<void> {
  await connection.hset(statuses, reference, `failed ${message}`);
  failed += 1;
  end();
}

async function addJobs(): Promise<void> {
  let bulk: { name: string; data: Row }[] = [];
  for await (const row of createReadStream(order.file).pipe(parse({ columns: true })) as AsyncIterable<Row>) {
    bulk.push({ name: 'pay', data: row });
    if (bulk.length === ROWS_PER_BULK) {
      rows += bulk.length;
      await queue.addBulk(bulk);
      bulk = [];
    }
  }
  rows += bulk.length;
  await queue.addBulk(bulk);
  isAdded = true;
}

await addJobs();
startedAt = performance.now();
const worker = new Worker<Row>(
  'payouts',
  async (job) => {
    const paymentId = await payRow(job.data);
    await connection.hset(statuses, job.data.reference, `paid ${paymentId}`);
  },
  { connection, prefix: order.prefix, concurrency: order.inFlight },
);
worker.on('completed', () => {
  completed += 1;
  end();
});
worker.on('failed', (job, error) => {
  if (job !== undefined && job.attemptsMade >= (job.opts.attempts ?? 1)) void giveUp(job.data.reference, error);
});
worker.on('error', (error) => process.stderr.write(`${error.message}\n`));
process.on('disconnect', () => process.exit(0));
