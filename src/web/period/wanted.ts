import type { FastifyRequest } from 'fastify';
import { durationText } from '../../duration.ts';
import type { PeriodReport } from '../../report/period/period.ts';
import { type PeriodRange, periodOf } from '../../report/period/period-range.ts';
import { periodContent } from '../../report/period/period-tables.ts';
import { readPeriod } from '../../runs/period.ts';
import { actorOf } from '../actor.ts';
import type { Download } from '../download.ts';
import { openRate } from '../limits/rate.ts';
import { Problem } from '../problem.ts';
import { noteDownload } from '../reports/downloads.ts';
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
  { read, waitOf }: Periods,
): Promise<{ report: PeriodReport; file: Download }> {
  const { query } = request;
  const range = requirePeriod(query);
  const ms = waitOf(actorOf(request));
  if (ms > 0)
    throw new Problem(429, `${TAKEN_MAX} of these were taken within an hour.`, `Try again in ${durationText(ms)}.`);
  const what = `period ${range.name}, ${query.format}`;
  await noteDownload(deps, request, { runId: 'ledger', what });
  const report = await read(range);
  const name = `period-${range.name.replaceAll(' ', '-')}`;
  return { report, file: { name, ending: query.format, content: periodContent(report, query) } };
}

/** Reports of periods that a person or a program takes in an hour: each is an entry of the audit log. */
const TAKEN_MAX = 30;

interface Periods {
  /** Reads the rows of a period, for one person at a time. Throws a Problem (503) while they are read for somebody else. */
  readonly read: (range: PeriodRange) => Promise<PeriodReport>;
  readonly waitOf: (who: string) => number;
}

export function openPeriods({ app }: WebDeps): Periods {
  let isBusy = false;
  const waitOf = openRate(app.clock, { requestsMax: TAKEN_MAX, perMs: 60 * 60_000 });
  const read: Periods['read'] = async (range) => {
    if (isBusy) throw new Problem(503, 'A period is being added up for somebody else.', 'Try again in a moment.');
    isBusy = true;
    try {
      return await readPeriod(app, range);
    } finally {
      isBusy = false;
    }
  };
  return { read, waitOf };
}
