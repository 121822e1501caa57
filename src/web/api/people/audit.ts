import { z } from 'zod';
import { headText, readEntry } from '../../../audit/entry.ts';
import { rfc3339 } from '../../../clock.ts';
import { headGiven, openVerifier } from '../../audit/verifier.ts';
import type { Web, WebDeps } from '../../web.ts';
import { count, time } from '../documents.ts';

const ENTRIES_PER_PAGE = 100;
const NUMBER_MAX = 1_000_000_000;
const text = z.string();

const entry = z.object({
  number: count,
  at: time,
  actor: text,
  action: text,
  target: text,
  details: z.record(text, text),
  dataDir: text,
  previous: text,
  hash: text,
});
const page = z.object({
  entries: z.array(entry),
  changed: z.array(count).describe('Places of entries that are not what they were'),
  next: count.nullable().describe('Where the next page begins'),
});
const verdict = z.object({
  holds: z.boolean(),
  entries: count,
  head: text.nullable(),
  uncopied: count,
  findings: z.array(z.object({ code: text, number: count, message: text })),
});

/** Entries that one request reads; `next` leads on. */
const SCANNED_MAX = 10_000;

/** The log of what people did. */
export function addAuditOperations(api: Web, deps: WebDeps): void {
  const { audit } = deps.app.ledger;
  const read = { act: 'audit' } as const;

  const querystring = z.strictObject({
    from: z.coerce.number('must be a number').int().min(1).max(NUMBER_MAX).default(1).describe('Number of an entry'),
    run: text.max(64).optional().describe('Only what concerns this run and its payouts'),
  });
  const list = { summary: 'What people did, the oldest first', querystring, response: { 200: page } };
  api.get('/audit', { config: read, schema: list }, async ({ query: { from, run } }) => {
    const found: z.infer<typeof page> = { entries: [], changed: [], next: null };
    let place = from - 1;
    for await (const line of audit.lines(from)) {
      if (place - from + 1 === SCANNED_MAX) return { ...found, next: place + 1 };
      place++;
      const record = readEntry(line);
      if (record === undefined) found.changed.push(place);
      if (record === undefined || !isAbout(record.target, run)) continue;
      if (found.entries.length === ENTRIES_PER_PAGE) return { ...found, next: place };
      found.entries.push({ ...record, details: { ...record.details }, at: rfc3339(record.at) });
    }
    return found;
  });

  const verifyLog = openVerifier(deps);
  const proof = z.strictObject({ head: headGiven.optional().describe('From a report: it has to be in the log') });
  const verify = { summary: 'Whether the log holds', querystring: proof, response: { 200: verdict } };
  api.get('/audit/verdict', { config: read, schema: verify }, async ({ query }) => {
    const { findings, entries, head, uncopied } = await verifyLog(query.head ?? null);
    return { holds: findings.length === 0, entries, head: headText(head), uncopied, findings: [...findings] };
  });
}

function isAbout(target: string, run: string | undefined): boolean {
  return run === undefined || target === run || target.startsWith(`${run}-`);
}
