import { z } from 'zod';
import { type AuditRecord, headText, readEntry } from '../../audit/entry.ts';
import { type AuditVerdict, parseHead, verifyAudit } from '../../audit/verify.ts';
import { rfc3339 } from '../../clock.ts';
import { tableCsv } from '../../report/table-csv.ts';
import { sendDownload } from '../download.ts';
import { sendPage } from '../parts/frame.tsx';
import { readForm } from '../parts/read-form.ts';
import { Problem } from '../problem.ts';
import type { Web, WebDeps } from '../web.ts';
import { AuditPage } from './audit-page.tsx';
import { type AuditWanted, isWanted, readNewest } from './newest.ts';
import { VerdictPage } from './verdict-page.tsx';

const CSV_ROWS_PER_PIECE = 500;
const PLACE_MAX = Number.MAX_SAFE_INTEGER;

const part = z.string().trim().max(200).default('');
const wanted = { actor: part, action: part, target: part };
const onPage = {
  querystring: z.strictObject({ ...wanted, before: z.coerce.number().int().min(1).max(PLACE_MAX).default(PLACE_MAX) }),
};
const asCsv = { querystring: z.strictObject(wanted) };
const fields = { body: z.record(z.string().max(64), z.string().max(1000)) };
const verifyForm = z.strictObject({
  csrf: z.string(),
  head: z
    .string()
    .trim()
    .transform((text) => (text === '' ? null : parseHead(text)))
    .refine((head) => head !== undefined, 'must be NUMBER:HASH as a report prints it, or the hash alone'),
});

/** The log of what people did. */
export function addAuditPages(web: Web, deps: WebDeps): void {
  const { audit } = deps.app.ledger;
  const config = { act: 'audit' } as const;
  const verify = openVerifier(deps);

  web.get('/audit', { config, schema: onPage }, async (request, reply) => {
    const { before, ...searched } = request.query;
    const page = await readNewest(audit, { before, wanted: searched });
    const head = headText(await audit.head());
    const body = AuditPage({ ...page, wanted: searched, head, isFirst: before === PLACE_MAX });
    return await sendPage(reply, deps, { title: 'Audit log', body });
  });

  web.get('/audit.csv', { config, schema: asCsv }, async (request, reply) => {
    return await sendDownload(reply, { name: 'audit', ending: 'csv', content: auditCsv(deps, request.query) });
  });

  web.post('/audit/verify', { config, schema: fields }, async (request, reply) => {
    const { head } = readForm(verifyForm, request.body);
    const body = VerdictPage({ verdict: await verify(head ?? null) });
    return await sendPage(reply, deps, { title: 'Proof of the audit log', body });
  });
}

/** Reads the whole log, for one person at a time. */
function openVerifier({ app }: WebDeps): (head: Parameters<typeof verifyAudit>[1]) => Promise<AuditVerdict> {
  const { audit, runs } = app.ledger;
  let isBusy = false;
  return async (head) => {
    if (isBusy) throw new Problem(503, 'The log is being verified for somebody else.', 'Try again in a moment.');
    isBusy = true;
    try {
      return await verifyAudit(audit, head, (await runs.list()).length > 0);
    } finally {
      isBusy = false;
    }
  };
}

/** The oldest first, as the chain goes. */
async function* auditCsv({ app }: WebDeps, searched: AuditWanted): AsyncGenerator<string, void> {
  yield tableCsv([['entry', 'time', 'actor', 'action', 'target', 'details', 'dataDir', 'previous', 'hash']]);
  let rows: ReturnType<typeof csvRow>[] = [];
  let place = 0;
  for await (const line of app.ledger.audit.lines()) {
    place++;
    const record = readEntry(line) ?? null;
    if (!isWanted(record, searched)) continue;
    rows.push(csvRow(place, record));
    if (rows.length < CSV_ROWS_PER_PIECE) continue;
    yield tableCsv(rows);
    rows = [];
  }
  if (rows.length > 0) yield tableCsv(rows);
}

function csvRow(place: number, record: AuditRecord | null) {
  if (record === null)
    return [place, null, null, 'changed', null, 'This entry is not what its hash says', null, null, null];
  const { number, at, actor, action, target, details, dataDir, previous, hash } = record;
  const told = Object.entries(details).map(([name, value]) => `${name}=${value}`);
  return [
    number,
    { exact: rfc3339(at) },
    actor,
    action,
    target,
    told.join(' '),
    { exact: dataDir },
    { exact: previous },
    { exact: hash },
  ];
}
