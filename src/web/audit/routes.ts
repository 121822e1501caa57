import { z } from 'zod';
import { type AuditRecord, headText, readEntry } from '../../audit/entry.ts';
import { rfc3339 } from '../../clock.ts';
import { tableCsv } from '../../report/table-csv.ts';
import { sendDownload } from '../download.ts';
import { sendPage } from '../parts/frame.tsx';
import { readForm } from '../parts/read-form.ts';
import type { Web, WebDeps } from '../web.ts';
import { AuditPage } from './audit-page.tsx';
import { type AuditWanted, isWanted, readNewest } from './newest.ts';
import { VerdictPage } from './verdict-page.tsx';
import { headGiven, openVerifier } from './verifier.ts';

const CSV_ROWS_PER_PIECE = 500;
const PLACE_MAX = Number.MAX_SAFE_INTEGER;

const part = z.string().trim().max(200).default('');
const wanted = { actor: part, action: part, target: part };
const onPage = {
  querystring: z.strictObject({ ...wanted, before: z.coerce.number().int().min(1).max(PLACE_MAX).default(PLACE_MAX) }),
};
const asCsv = { querystring: z.strictObject(wanted) };
const fields = { body: z.record(z.string().max(64), z.string().max(1000)) };
const verifyForm = z.strictObject({ head: headGiven });

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

  web.post('/audit/verify', { config: { ...config, page: '/audit' }, schema: fields }, async (request, reply) => {
    const { head } = readForm(verifyForm, request.body);
    const body = VerdictPage({ verdict: await verify(head ?? null) });
    return await sendPage(reply, deps, { title: 'Proof of the audit log', body });
  });
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
