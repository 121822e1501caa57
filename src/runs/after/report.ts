import { access, constants } from 'node:fs/promises';
import { type AuditAct, headText } from '../../audit/entry.ts';
import { type Clock, rfc3339 } from '../../clock.ts';
import { CAPABILITIES } from '../../config/config.ts';
import { makeFolder } from '../../files.ts';
import { faultWords } from '../../ledger/intents/data-dir.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { reportHashField } from '../../ledger/runs/run-record.ts';
import { formatAmount } from '../../money.ts';
import type { AtCrashPoint } from '../../pay/crash-point.ts';
import { OUTCOMES, type Run } from '../../payout.ts';
import { Refusal, withSteps } from '../../refusal.ts';
import { type WrittenFiles, writeReportFiles, writeSignatureFile } from '../../report/files.ts';
import type { OnRecord } from '../../report/signing/file-hashes.ts';
import { reportStatement, signatureText } from '../../report/signing/signature.ts';
import { openSigningKey } from '../../report/signing/signing-key.ts';
import type { ReportSource } from '../../report/source.ts';
import { type ReportSummary, summarise } from '../../report/summary.ts';
import { VERSION } from '../../version.ts';
import { readOnRecord } from '../on-record.ts';
import { readRun } from '../read-run.ts';
import { reportPaths } from '../report-paths.ts';
import { weakTimesOf } from '../safety/durability-watch.ts';
import { openReportSeals } from '../safety/report-seals.ts';

/** Processes that end a run together write its report one after the other: the first one's serves them all. */
const TURN_MS = 30_000;
const TURN_POLL_MS = 100;

export interface ReportDeps {
  readonly ledger: Ledger;
  readonly clock: Clock;
  readonly at: AtCrashPoint;
  readonly config: {
    readonly reportDir: string;
    readonly service: { readonly environment: string } | undefined;
    readonly signingKey: string | undefined;
  };
  readonly serviceName: string;
  readonly capabilities: ReadonlySet<string>;
  readonly overrides: readonly string[];
}

export interface WrittenReport {
  readonly summary: ReportSummary;
  /** Paths of the newest version's files. */
  readonly paths: readonly string[];
}

/** A run whose rows can be reported. Throws a Refusal for one that is not there, is being recorded or was purged. */
export async function reportableRun(deps: Pick<ReportDeps, 'ledger'>, runId: string): Promise<Run> {
  const run = await readRun(deps, runId);
  if (run.state === 'recording') {
    throw new Refusal(
      `Run ${runId} is still being recorded.`,
      'If its recording was interrupted, submit the same file again: payrun carries it on.',
    );
  }
  if (run.purgedAt !== null) throw refusePurged(run, run.purgedAt);
  return run;
}

/**
 * What a report of the run is made from: the ledger, read while the report is made. `onRecord` is what the audit log says
 * of the run's file, where that was read already. Throws what `reportableRun` throws.
 */
export async function reportSource(deps: ReportDeps, runId: string, onRecord?: OnRecord): Promise<ReportSource> {
  return await sourceOfRun(deps, await reportableRun(deps, runId), onRecord);
}

/** The same of a run as it was read, whatever its state. */
export async function sourceOfRun(deps: ReportDeps, run: Run, onRecord?: OnRecord): Promise<ReportSource> {
  const { id: runId } = run;
  const record = onRecord ?? (await readOnRecord(deps.ledger, [runId])).get(runId);
  const { disproved } = await deps.ledger.state.read();
  const seals = await openReportSeals(deps, run);
  return {
    run,
    rows: seals.judged(deps.ledger.runs.rows(run.id)),
    sealFaults: () => seals.faults(),
    service: deps.serviceName,
    sandbox: deps.config.service === undefined,
    environment: deps.config.service?.environment ?? 'test',
    capabilities: Object.fromEntries(
      CAPABILITIES.map((name) => [name, deps.capabilities.has(name) && !disproved.includes(name)]),
    ),
    overrides: [...deps.overrides, ...weakTimesOf(run, await deps.ledger.state.weakTimes())],
    auditHead: headText(await deps.ledger.audit.head()),
    ...(record === undefined ? {} : { onRecord: record }),
    version: VERSION,
    createdAt: deps.clock.now(),
    reports: await reportPaths(deps.config.reportDir, run),
    changesNow: async () => (await readRun(deps, runId)).changes,
  };
}

function refusePurged({ id, reportHashes }: Run, purgedAt: number): Refusal {
  const last = reportHashes.at(-1);
  const genuine =
    last && ` A copy of its last report is genuine if the SHA-256 of v${last.version}.csv is ${last.csv}.`;
  return new Refusal(
    `The rows of run ${id} were removed on ${rfc3339(purgedAt)}, because they are kept for a limited time.`,
    withSteps`${{ to: 'see-run', run: id }} has its numbers.${genuine ?? ''}`,
  );
}

/** Adds a run's rows up, as its report does. */
export async function summariseRun(deps: ReportDeps, runId: string): Promise<ReportSummary> {
  return await summarise(await reportSource(deps, runId));
}

/**
 * Writes the run's next report to a folder, unless nothing changed since the last one that lies there. Gives the summary
 * and the paths of the newest version.
 */
export async function writeReport(
  deps: ReportDeps,
  runId: string,
  folder = deps.config.reportDir,
): Promise<WrittenReport> {
  const turn = `report-${runId}`;
  while (!(await deps.ledger.state.takeTurn(turn, TURN_MS))) await deps.clock.sleep(TURN_POLL_MS);
  try {
    return await writeInTurn(deps, runId, folder);
  } finally {
    await deps.ledger.state.endTurn(turn);
  }
}

async function writeInTurn(deps: ReportDeps, runId: string, folder: string): Promise<WrittenReport> {
  const run = await readRun(deps, runId);
  const there = await reportPaths(folder, run);
  const isThere = ['.csv', '.json'].every((ending) => there.some((path) => path.endsWith(ending)));
  if (isThere && run.reportedChanges === run.changes) {
    const summary = await summariseRun(deps, runId);
    await signReport(deps, { run, folder, auditHead: summary.facts.auditHead });
    return { summary, paths: await reportPaths(folder, run) };
  }
  deps.at('C17');
  const version = run.reportVersion + 1;
  const written = await writeReportFiles(() => reportSource(deps, runId), { folder, runId, version });
  await deps.ledger.runs.note(runId, {
    reportedChanges: String(run.changes),
    reportVersion: String(written.version),
    [reportHashField(written.version)]: `${written.sha256.csv} ${written.sha256.json}`,
  });
  const { summary } = written;
  const reported = await readRun(deps, runId);
  const auditHead = headText(await deps.ledger.audit.append(reportedAct(written, runId)));
  await signReport(deps, { run: reported, folder, auditHead });
  const paths = await reportPaths(folder, reported);
  return { summary: { ...summary, facts: { ...summary.facts, run: reported, reports: paths } }, paths };
}

/** Binds the ledger into the audit log: the report's hashes, the sum of each outcome, and the range of the arming counters. */
function reportedAct({ version, sha256, summary }: WrittenFiles, runId: string): AuditAct {
  const { outcomes, totals, armings, facts } = summary;
  const sums = OUTCOMES.filter((outcome) => outcomes[outcome] > 0).map((outcome) => {
    const money = totals
      .filter((total) => total.outcomes[outcome] !== 0n)
      .map(({ currency, outcomes: sum }) => `${formatAmount({ minor: sum[outcome], currency })} ${currency}`);
    return [outcome, [`${outcomes[outcome]} rows`, ...money].join(', ')] as const;
  });
  const counters = armings.counters === null ? 'none' : armings.counters.join('-');
  return {
    actor: 'payrun',
    action: 'run.reported',
    target: runId,
    details: {
      state: facts.run.state,
      version: String(version),
      csv: sha256.csv,
      json: sha256.json,
      armings: String(armings.requests),
      counters,
      ...Object.fromEntries(sums),
    },
  };
}

/** Signs the run's newest report, unless it is signed already or there is no key. What is signed is what the ledger noted. */
async function signReport(
  { config }: ReportDeps,
  { run, folder, auditHead }: { run: Run; folder: string; auditHead: string | null },
): Promise<void> {
  const hashes = run.reportHashes.at(-1);
  if (config.signingKey === undefined || hashes === undefined) return;
  const { id: runId, fileSha256 } = run;
  const previous = run.reportHashes.at(-2);
  const statement = reportStatement({ runId, fileSha256, auditHead, hashes, previous });
  const target = { folder, runId, version: hashes.version };
  await writeSignatureFile(target, signatureText(statement, openSigningKey(config.signingKey)));
}

/** Makes the report folder, or throws a Refusal when no report could be written to it: before anything is paid. */
export async function requireReportFolder(folder: string): Promise<void> {
  try {
    makeFolder(folder);
    await access(folder, constants.W_OK);
  } catch (cause) {
    throw new Refusal(
      `The report folder ${folder} cannot be written (${faultWords(cause)}).`,
      'Name another with --report-dir or PAYRUN_REPORT_DIR. Nothing was paid.',
      { cause },
    );
  }
}
