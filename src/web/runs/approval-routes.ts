import { z } from 'zod';
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
import { readFeesOfRun } from '../uploads/cost.ts';
import type { Web, WebDeps } from '../web.ts';
import type { Seen } from './approval-facts.ts';
import { ApprovalPage, approvalHead } from './approval-page.tsx';
import { findRun, ofRun } from './find-run.ts';
import { beneficiaryRows, fileRows } from './table-rows.ts';

const sha256 = z.string().regex(/^[0-9a-f]{64}$/, 'must be the one that the page showed');
const form = z.strictObject({ sha256, digest: sha256 });

/** What somebody approves, as the ledger has it, and their word. */
export function addApprovalRoutes(web: Web, deps: WebDeps): void {
  const { app } = deps;
  const readBeneficiaries = openBeneficiaryBook(deps);
  const readSeen = async (run: Run): Promise<Seen> => {
    const blocked = new Set((await app.ledger.approvals.blocked()).map(({ identityId }) => identityId));
    const beneficiaries = await readBeneficiaries(run, blocked);
    const shown = [...beneficiaries.top, ...beneficiaries.blocked].map(({ identityId }) => identityId);
    const [listed, neverPaid] = await Promise.all([
      app.ledger.names.proven([...new Set(shown)]),
      app.ledger.beneficiaries.neverPaid(beneficiaries.top.map(({ identityId }) => identityId)),
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
    const { limits, approval } = app.config;
    const changes = await scheduleChangesOf(app.ledger, run);
    const before = (await deps.recentRuns()).find((one) => isBefore(one, run));
    const fees = await readFeesOfRun(app, run);
    const facts = { run, standing, limits, approval, changes, before, fees, ...(await readSeen(run)) };
    const mayCancel = request.who?.may('cancel') === true;
    const body = ApprovalPage({ ...facts, person: actorOf(request), mayCancel });
    return await sendPage(reply, deps, { ...approvalHead({ run, standing }), body });
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

const RUNS_KEPT_MAX = 20;

/**
 * Adds a run's beneficiaries up once for all who look at it while its payouts and the block list stay as they are: a large
 * file has many rows.
 */
function openBeneficiaryBook({ app }: WebDeps): (run: Run, blocked: ReadonlySet<string>) => Promise<Beneficiaries> {
  const recent = openRecent<Beneficiaries>(RUNS_KEPT_MAX);
  return (run, blocked) =>
    recent(JSON.stringify([run.id, run.counts, [...blocked].toSorted()]), () => beneficiariesOf(app, run, blocked));
}
