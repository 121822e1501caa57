import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { cpuMsOf } from '../cpu-time.ts';
import { quantile, table } from './figures.ts';

const WARM_UP = 20;
/** The page says so until all payouts are in the index. */
const STILL_READING = 'still being read';
const INDEX_LOOK_MS = 1000;
/** A part of references, one that is in none, an amount: each over all payouts. */
const SEARCHES = ['/search?text=-77', '/search?text=no-such-reference', '/search?text=12.50'];

/**
 * What the list of runs and the search cost: processor time of the web app, and how long a browser on this machine waits;
 * `pages` is how many there are.
 */
export async function measureRunsPage(
  { base, cookie, pid }: { base: string; cookie: string; pid: number },
  { pages, asked }: { pages: number; asked: number },
): Promise<string> {
  const paths = [
    '/runs',
    `/runs?page=${pages}`,
    '/runs?state=finished',
    '/runs?state=paused',
    '/runs?outcome=not-paid',
    '/runs?text=payouts-77',
    ...SEARCHES,
  ];
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const ask = (path: string) => answerTo(new URL(path, base), { agent, cookie });
  while ((await ask('/search?text=nothing')).text.includes(STILL_READING)) await delay(INDEX_LOOK_MS);
  const rows: string[][] = [];
  for (const path of paths) {
    for (let round = 0; round < WARM_UP; round++) await ask(path);
    const before = cpuMsOf(pid);
    const times: number[] = [];
    for (let round = 0; round < asked; round++) times.push((await ask(path)).ms);
    const cpu = ((cpuMsOf(pid) - before) / asked).toFixed(1);
    rows.push([`\`${path}\``, cpu, ...[0.5, 0.95, 1].map((share) => quantile(times, share).toFixed(1))]);
  }
  agent.destroy();
  return table(['page', 'processor, ms', 'median, ms', '95 %', 'longest'], rows);
}

async function answerTo(
  url: URL,
  { agent, cookie }: { agent: Agent; cookie: string },
): Promise<{ ms: number; text: string }> {
  const start = performance.now();
  const request = get(url, { agent, headers: { cookie } });
  const [answer]: IncomingMessage[] = await once(request, 'response');
  if (answer?.statusCode !== 200) throw new Error(`${url.pathname} answered ${answer?.statusCode}`);
  const text = await readText(answer);
  return { ms: performance.now() - start, text };
}
