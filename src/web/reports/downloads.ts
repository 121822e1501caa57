import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import type { Run } from '../../payout.ts';
import { openReportCopy, type ReportCopy } from '../../runs/after/report-copy.ts';
import { actorOf } from '../actor.ts';
import type { Download } from '../download.ts';
import { Problem } from '../problem.ts';
import type { WebDeps } from '../web.ts';

/** The name of a report that was written, or of its signature, below its run: `v2.csv`. */
export const COPY_NAME = /^v[1-9][0-9]{0,8}\.(csv|json|sig)$/;

const NOTED_MS = 60 * 60_000;

/**
 * Writes down who takes what of a run: before the first byte goes, and whether a person or a program asks. The same again
 * within an hour is not written down again.
 */
export async function noteDownload(
  { app }: WebDeps,
  request: Pick<FastifyRequest, 'who'>,
  { runId, what }: { readonly runId: string; readonly what: string },
): Promise<void> {
  const actor = actorOf(request);
  const { state: head, audit } = app.ledger;
  const turn = `download:${createHash('sha256')
    .update(JSON.stringify([actor, runId, what]))
    .digest('base64url')}`;
  if (!(await head.takeTurn(turn, NOTED_MS))) return;
  try {
    await audit.append({ actor, action: 'report.downloaded', target: runId, details: { what } });
  } catch (error) {
    await head.endTurn(turn);
    throw error;
  }
}

/** A report as it was written, which is noted as taken. Throws a Problem (404, 409) for one that is not there as it was. */
export async function takeCopy(
  deps: WebDeps,
  request: Pick<FastifyRequest, 'who'>,
  { run, file }: { readonly run: Run; readonly file: string },
): Promise<Download> {
  const [version = '', end] = file.slice(1).split('.');
  const ending = end === 'csv' || end === 'sig' ? end : 'json';
  const asked = { version: Number.parseInt(version, 10), ending } as const;
  const copy = await openReportCopy(deps.app.config.reportDir, run, asked);
  if (copy.kind !== 'found') throw NO_COPY[copy.kind](`${run.id}.${file}`);
  await noteDownload(deps, request, { runId: run.id, what: file });
  const { content, bytes } = copy;
  return { name: `${run.id}.v${version}`, ending, content, bytes };
}

/**
 * The header that leads from a report to the newest version of it, below where the runs are (RFC 8288, RFC 5829); none for
 * the newest.
 */
export function latestLink(
  { id, reportVersion }: Pick<Run, 'id' | 'reportVersion'>,
  { file, below }: { readonly file: string; readonly below: string },
): { readonly link?: string } {
  const [version = '', ending = ''] = file.slice(1).split('.');
  if (Number.parseInt(version, 10) >= reportVersion) return {};
  return { link: `<${below}/runs/${id}/reports/v${reportVersion}.${ending}>; rel="latest-version"` };
}

const NO_COPY: Readonly<Record<Exclude<ReportCopy['kind'], 'found'>, (name: string) => Problem>> = {
  'never-written': (name) =>
    new Problem(404, `No report ${name} was written.`, 'The page of the run lists those that were.'),
  elsewhere: (name) =>
    new Problem(
      404,
      `The report ${name} is not in the report folder of this host.`,
      'Look on the host that wrote it, or download the report as it stands now.',
    ),
  altered: (name) =>
    new Problem(
      409,
      `The file ${name} is not the one that was written: its SHA-256 is another.`,
      'Do not use it; download the report as it stands now, and tell whoever runs payrun.',
    ),
  unsigned: (name) =>
    new Problem(
      404,
      `There is no signature ${name} in the report folder of this host.`,
      'Have a key made that signs reports (docs/verify.md), or look on the host that wrote the report.',
    ),
};
