import type { FastifyRequest } from 'fastify';
import type { PeriodReport } from '../../report/period/period.ts';
import { type PeriodRange, periodOf } from '../../report/period/period-range.ts';
import { periodContent } from '../../report/period/period-tables.ts';
import { readPeriod } from '../../runs/period.ts';
import type { Download } from '../download.ts';
import { Problem } from '../problem.ts';
import { noteDownload } from '../runs/downloads.ts';
import type { WebDeps } from '../web.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const DAYS_MAX = 400;

type Query = Parameters<typeof periodOf>[0];

/** The period that an address names; undefined for none. Throws a Problem (400) for one that cannot be. */
export function askedPeriod(query: Query): PeriodRange | undefined {
  const range = periodOf(query);
  if (typeof range === 'string')
    throw new Problem(400, range, 'Name one day, week or month, or a first and a last day.');
  if (range !== undefined && range.end - range.from > DAYS_MAX * DAY_MS) {
    throw new Problem(
      400,
      `A period has at most ${DAYS_MAX} days here.`,
      'Name a shorter one. The command "report" takes any.',
    );
  }
  return range;
}

/** The same. Throws a Problem (400) for none, too. */
function requirePeriod(query: Query): PeriodRange {
  const range = askedPeriod(query);
  if (range !== undefined) return range;
  throw new Problem(400, 'No period is named.', 'Name one day, week or month, or a first and a last day.');
}

type FileQuery = Query & { readonly format: 'csv' | 'xlsx' | 'json'; readonly bom: boolean };

/** Reads the report of the period that a request names. Who takes it stands on the audit log first. */
export async function takePeriod(
  deps: WebDeps,
  request: FastifyRequest & { query: FileQuery },
  read: ReturnType<typeof openPeriods>,
): Promise<{ report: PeriodReport; file: Download }> {
  const { query } = request;
  const range = requirePeriod(query);
  await noteDownload(deps, request, { runId: 'ledger', what: `period ${range.name}, ${query.format}` });
  const report = await read(range);
  const name = `period-${range.name.replaceAll(' ', '-')}`;
  return { report, file: { name, ending: query.format, content: periodContent(report, query) } };
}

/** Reads the rows of a period, for one person at a time. Throws a Problem (503) while they are read for somebody else. */
export function openPeriods({ app }: WebDeps): (range: PeriodRange) => Promise<PeriodReport> {
  let isBusy = false;
  return async (range) => {
    if (isBusy) throw new Problem(503, 'A period is being added up for somebody else.', 'Try again in a moment.');
    isBusy = true;
    try {
      return await readPeriod(app, range);
    } finally {
      isBusy = false;
    }
  };
}
