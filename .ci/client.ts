// An integrator's program, compiled by .ci/client: it fails where the description does not say what it needs.
import createClient from 'openapi-fetch';
import type { components, paths } from './api.js';

const api = createClient<paths>({ baseUrl: 'http://localhost:8420', headers: { Authorization: 'Bearer KEY' } });

/** Hands a file in and gives what became of its rows. */
export async function handIn(file: string): Promise<string> {
  const { data, error } = await api.POST('/api/v1/runs', {
    params: { query: { name: 'payouts.csv', expectTotal: ['USD=12.50'] } },
    body: file,
    headers: { 'Content-Type': 'text/csv' },
  });
  if (error !== undefined) throw new Error(`${error.title}: ${error.remedy}`);
  return `${data.runId} ${data.state}: ${data.outcomes.paid} of ${data.file.rows} rows paid`;
}

/** The rows of a run that wait for people, with the reason of each. */
export async function held(run: string): Promise<string[]> {
  const { data } = await api.GET('/api/v1/runs/{run}/payouts', {
    params: { path: { run }, query: { outcome: 'held' } },
  });
  const rows: components['schemas']['Payout'][] = typeof data === 'object' ? data : [];
  return rows.map((row) => `${row.reference}: ${row.reason}`);
}

/** What the runs of a month paid in each currency. */
export async function paid(month: string): Promise<string[]> {
  const { data } = await api.GET('/api/v1/period', { params: { query: { month } } });
  const lines = typeof data === 'object' ? data.lines : [];
  return lines.map(({ currency, amounts }) => `${currency} ${amounts.paid}`);
}

export async function mistakes(): Promise<void> {
  // @ts-expect-error -- no state has this name
  await api.GET('/api/v1/runs', { params: { query: { state: 'done' } } });
  // @ts-expect-error -- the run is missing
  await api.GET('/api/v1/runs/{run}');
  // @ts-expect-error -- there is no such operation
  await api.DELETE('/api/v1/runs');
}
