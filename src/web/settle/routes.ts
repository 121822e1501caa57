import { z } from 'zod';
import { isSamePerson } from '../../access/same-person.ts';
import { reasonText } from '../../access/words.ts';
import { rfc3339 } from '../../clock.ts';
import { formatAmount } from '../../money.ts';
import { DECISIONS, type Payout } from '../../payout.ts';
import { Refusal } from '../../refusal.ts';
import { type TableCell, tableCsv } from '../../report/table-csv.ts';
import { type DecisionRules, indicationsOf, readDecisionRules } from '../../runs/decide/choices.ts';
import { cancelPayout } from '../../runs/decide/control.ts';
import { type Asked, decidePayout } from '../../runs/decide/decide.ts';
import { readToSettle, type SettlePlace } from '../../runs/decide/to-settle.ts';
import { openLookUps } from '../../runs/look-ups.ts';
import { sendDownload } from '../download.ts';
import { sendPage } from '../parts/frame.tsx';
import { readForm } from '../parts/read-form.ts';
import { findPayout, hrefOfRow, ofRow } from '../payouts/find-row.ts';
import { Problem, problemOf } from '../problem.ts';
import { findRun, ofRun } from '../run/find-run.ts';
import type { Person, Web, WebDeps } from '../web.ts';
import { DecidedPage } from './decided-page.tsx';
import { hrefOfGroup, openReasons, readGroups } from './groups.ts';
import { openProposed } from './proposed.ts';
import { ToSettlePage } from './to-settle-page.tsx';
import { filterOf, hrefOfList, settleQuery } from './wanted.ts';

/** The page of a payout, on which its forms stand. */
const ROW = '/runs/:run/payouts/:line';
const PAYOUTS_PER_PAGE = 20;
const PAYOUTS_PER_CALL = 500;

const NO_GROUPS = { groups: [], outOf: null };
const list = { querystring: z.strictObject(settleQuery) };

const TITLES = { proposed: 'Proposed', 'to-read': 'Read this first', done: 'Settled' } as const;

/** As much of a form as is taken in; what its fields must be is told with a remedy. */
const fields = z.record(z.string().max(64), z.string().max(1000));
const cancelForm = z.strictObject({ reason: reasonText });
const decideForm = z
  .strictObject({
    decision: z.enum(DECISIONS, 'must be chosen'),
    paymentId: z.string().trim().max(128, 'must have at most 128 characters').default(''),
    reason: reasonText,
    /** The digest of what the page showed that speaks against it. */
    read: z.string().max(64).optional(),
  })
  .refine(({ decision, paymentId }) => decision !== 'paid' || paymentId !== '', {
    path: ['paymentId'],
    message: 'must name the payment by which it was paid',
  });

/** What only people can settle: the list of it over all runs, and what they decide of one payout. */
export function addSettlePages(web: Web, deps: WebDeps): void {
  const { app } = deps;
  const openPay = openLookUps(app);
  const readProposed = openProposed(app);
  const readReasons = openReasons(app);

  web.get('/to-settle', { config: { act: 'read' }, schema: list }, async (request, reply) => {
    const wanted = request.query;
    const filter = filterOf(wanted, app.clock.now());
    const isFirst = filter.from === null;
    const found = isFirst
      ? await readGroups(app.ledger, filter)
      : { ...NO_GROUPS, ...(await readToSettle(app.ledger, { ...filter, most: PAYOUTS_PER_PAGE })) };
    const proposed = isFirst ? (await readProposed()).filter(({ runId }) => runId === (wanted.run || runId)) : [];
    const maySettle = request.who?.may('settle') === true;
    const body = ToSettlePage({
      payouts: found.payouts.slice(0, PAYOUTS_PER_PAGE),
      next: found.payouts[PAYOUTS_PER_PAGE] ?? found.next,
      groups: found.groups.filter(({ payouts }) => payouts > 1),
      outOf: found.outOf,
      wanted,
      proposed,
      reasons: await readReasons(),
      rules: { ...(await readDecisionRules(app)), maySettle },
      isFirst,
    });
    return await sendPage(reply, deps, { title: 'To settle', body });
  });

  // To the one group that waits, or to the list.
  web.get('/runs/:run/settle', { config: { act: 'read' }, schema: ofRun }, async (request, reply) => {
    const { id } = await findRun(deps, request.params.run);
    const [group, ...others] = (await readGroups(app.ledger, { run: id, state: 'held' })).groups;
    const own = group === undefined || others.length > 0 ? null : hrefOfGroup(group);
    return await reply.redirect(own ?? hrefOfList({ run: id }), 303);
  });

  web.get('/to-settle.csv', { config: { act: 'read' } }, async (_request, reply) => {
    return await sendDownload(reply, { name: 'to-settle', ending: 'csv', content: csvOf(deps, readProposed) });
  });

  web.post(
    '/runs/:run/payouts/:line/decide',
    { config: { act: 'settle', page: ROW }, schema: { ...ofRow, body: fields } },
    async (request, reply) => {
      const payout = await findPayout(deps, request.params);
      const { decision, paymentId, reason, read } = readForm(decideForm, request.body);
      const caveats = read === undefined ? undefined : { digest: read };
      const by = nameOf(request.who);
      const asked: Asked = { decision, paymentId: decision === 'paid' ? paymentId : '', by, reason, caveats };
      const decided = await decidePayout({ ...app, openPay }, payout, asked).catch((error: unknown) =>
        refuseDecision(error, payout, by),
      );
      const now = await findPayout(deps, request.params);
      const title = TITLES[decided.result];
      return await sendPage(reply, deps, { title, body: DecidedPage({ payout: now, asked, decided }) });
    },
  );

  web.post(
    '/runs/:run/payouts/:line/cancel',
    { config: { act: 'cancel', page: ROW }, schema: { ...ofRow, body: fields } },
    async (request, reply) => {
      const payout = await findPayout(deps, request.params);
      const { reason } = readForm(cancelForm, request.body);
      await cancelPayout(app, payout, { actor: nameOf(request.who), reason });
      return await reply.redirect(hrefOfRow(request.params), 303);
    },
  );
}

function nameOf(who: Person | null): string {
  if (who === null) throw new Error('a route that decides let somebody in who has not signed in');
  return who.name;
}

/** What came in the way of a decision, with what to do about it for somebody who stands before a page. */
function refuseDecision(error: unknown, { proposal }: Payout, by: string): never {
  if (!(error instanceof Refusal) || error.kind === 'unavailable') throw error;
  const isOwn = proposal !== null && isSamePerson(proposal.by, by);
  const { status, message } = problemOf(error);
  const remedy = 'All that is known of it stands below.';
  throw new Problem(
    status,
    message,
    isOwn ? `${remedy} What you proposed waits for another person to look and to confirm it.` : remedy,
  );
}

const COLUMNS =
  'run,line,reference,beneficiaryIdentityId,amount,currency,state,reasonCode,reason,quoteId,proposal,proposedBy,proposedAt,proposedFor,mayHaveBeenPaid,mayNotHaveBeenPaid,beneficiaryName';

async function* csvOf({ app }: WebDeps, readProposed: () => Promise<Payout[]>): AsyncGenerator<string, void> {
  const rules = await readDecisionRules(app);
  const cells = (payout: Payout): TableCell[] => cellsOf(payout, rules);
  yield tableCsv([COLUMNS.split(','), ...(await readProposed()).map(cells)]);
  let from: SettlePlace | null = null;
  do {
    const { payouts, next } = await readToSettle(app.ledger, { from, most: PAYOUTS_PER_CALL });
    if (payouts.length > 0) yield tableCsv(payouts.map(cells));
    from = next;
  } while (from !== null);
}

function cellsOf(payout: Payout, rules: DecisionRules): TableCell[] {
  const { runId, line, row, proposal } = payout;
  const { paid, notPaid } = indicationsOf(payout, rules);
  return [
    runId,
    line,
    row.reference,
    row.beneficiaryIdentityId,
    { exact: formatAmount(row.amount) },
    row.amount.currency,
    payout.state,
    payout.reasonCode,
    payout.reason,
    payout.quoteId,
    proposal?.decision ?? null,
    proposal?.by ?? null,
    proposal === null ? null : { exact: rfc3339(proposal.at) },
    proposal?.reason ?? null,
    paid.join('; '),
    notPaid.join('; '),
    payout.beneficiaryName?.name ?? null,
  ];
}
