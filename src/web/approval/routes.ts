import { z } from 'zod';
import type { Clock } from '../../clock.ts';
import type { Run } from '../../payout.ts';
import { type Beneficiaries, beneficiariesOf } from '../../runs/beneficiaries.ts';
import { approvalStanding, approveRun } from '../../runs/decide/approve.ts';
import { openRecent } from '../../runs/recent.ts';
import { factsFinding } from '../../runs/safety/seals.ts';
import { refuseFinding } from '../../runs/safety/shown-seals.ts';
import { scheduleChangesOf } from '../../runs/schedule-changes.ts';
import { actorOf } from '../actor.ts';
import { sendTable } from '../download.ts';
import { sendPage } from '../parts/frame.tsx';
import { readForm } from '../parts/read-form.ts';
import { Problem } from '../problem.ts';
import { findRun, ofRun } from '../run/find-run.ts';
import { restingRows } from '../run/resting-rows.ts';
import { beneficiaryRows, fileRows } from '../run/table-rows.ts';
import type { Web, WebDeps } from '../web.ts';
import type { Seen } from './approval-facts.ts';
import { ApprovalPage, approvalHead, BeingReadPage } from './approval-page.tsx';
import { openFundsAsking } from './funds.ts';

const sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'must be the one that the page showed');
const form = z.strictObject({ sha256, digest: sha256 });

/** What somebody approves, as the ledger has it, and their word. */
export function addApprovalRoutes(web: Web, deps: WebDeps): void {
  const { app } = deps;
  const readBeneficiaries = openBeneficiaryBook(deps);
  const funds = openFundsAsking(app);
  web.addHook('preClose', async () => funds.close());
  const readSeen = async (run: Run): Promise<Seen> => {
    const blocked = new Set((await app.ledger.approvals.blocked()).map(({ identityId }) => identityId));
    const beneficiaries = await readBeneficiaries(run, blocked);
    const shown = [
      ...[...beneficiaries.top, ...beneficiaries.blocked].map(({ identityId }) => identityId),
      ...beneficiaries.largest.map(({ row }) => row.beneficiaryIdentityId),
    ];
    const [listed, neverPaid] = await Promise.all([
      app.ledger.names.proven([...new Set(shown)]),
      app.ledger.beneficiaries.neverPaid([...new Set(shown)]),
    ]);
    const names = new Map(Array.from(listed, ([id, { name }]) => [id, name]));
    return { beneficiaries, names, neverPaid, blocked };
  };
  const route = { config: { act: 'approve' }, schema: ofRun } as const;

  web.get('/runs/:run/approve', route, async (request, reply) => {
    const run = await findRun(deps, request.params.run);
    const standing = approvalStanding(app, run, await app.ledger.people.disabled());
    if ((run.state !== 'awaiting-approval' && run.state !== 'paused') || standing.needed === 0)
      throw new Problem(
        409,
        `Run ${run.id} waits for nobody's approval: it is ${run.state}.`,
        'Look at the run itself.',
      );
    await refuseFinding(app, factsFinding(app.ledger, run));
    const seen = await within(app.clock, READ_MS_MAX, readSeen(run));
    const head = approvalHead({ run, standing });
    if (seen === undefined) return await sendPage(reply, deps, { ...head, body: BeingReadPage({ run }) });
    const { limits, approval } = app.config;
    const changes = await scheduleChangesOf(app.ledger, run);
    const before = (await deps.recentRuns()).find((one) => isBefore(one, run));
    const facts = {
      run,
      standing,
      limits,
      approval,
      changes,
      before,
      ...seen,
      ...(await funds.see(run)),
    };
    const mayCancel = request.who?.may('cancel') === true;
    const body = ApprovalPage({ ...facts, person: actorOf(request), mayCancel });
    return await sendPage(reply, deps, { ...head, body });
  });

  web.get('/runs/:run/approve/totals.csv', route, async (request, reply) => {
    const run = await findRun(deps, request.params.run);
    await refuseFinding(app, factsFinding(app.ledger, run));
    return sendTable(reply, `${run.id}.totals`, fileRows(run));
  });

  web.get('/runs/:run/approve/beneficiaries.csv', route, async (request, reply) => {
    const run = await findRun(deps, request.params.run);
    return sendTable(reply, `${run.id}.beneficiaries`, beneficiaryRows(await readSeen(run)));
  });

  const approve = { config: { act: 'approve', page: '/runs/:run/approve' }, schema: ofRun } as const;
  web.post('/runs/:run/approve', approve, async (request, reply) => {
    const { id } = await findRun(deps, request.params.run);
    const seen = readForm(form, request.body);
    await app.ensureSeason();
    await approveRun(app, id, { actor: actorOf(request), ...seen });
    return await reply.redirect(`/runs/${id}`, 303);
  });
}

/** Whether it came before the run from a file of the same name, and was not given up. */
function isBefore(one: Run, run: Run): boolean {
  return one.fileName === run.fileName && one.createdAt < run.createdAt && one.state !== 'cancelled';
}

/** The rows of more of them are read with rests in between, beside the pages. */
const ROWS_AT_ONCE_MAX = 500;
const RUNS_KEPT_MAX = 20;
/** So long a page waits for them; it shows them later otherwise. */
const READ_MS_MAX = 250;

/** What it comes to, if it does in so many milliseconds. */
async function within<T>(clock: Clock, ms: number, making: Promise<T>): Promise<T | undefined> {
  const waited = new AbortController();
  try {
    return await Promise.race([making, clock.sleep(ms, waited.signal).then(() => undefined)]);
  } finally {
    waited.abort();
    // What fails later is told to whoever asks next.
    making.catch(() => {});
  }
}

/**
 * Adds a run's beneficiaries up once for all who look at it while its payouts and the block list stay as they are: a large
 * file has many rows.
 */
function openBeneficiaryBook({ app }: WebDeps): (run: Run, blocked: ReadonlySet<string>) => Promise<Beneficiaries> {
  const recent = openRecent<Beneficiaries>(RUNS_KEPT_MAX);
  return (run, blocked) =>
    recent(JSON.stringify([run.id, run.counts, [...blocked].toSorted()]), () => {
      if (run.rows <= ROWS_AT_ONCE_MAX) return beneficiariesOf(app, run, blocked);
      const runs = { ...app.ledger.runs, rows: (runId: string) => restingRows(app, runId) };
      return beneficiariesOf({ ...app, ledger: { ...app.ledger, runs } }, run, blocked);
    });
}
