import { once } from 'node:events';
import { Agent, get, type IncomingMessage } from 'node:http';
import { quantile, table } from './figures.ts';

const WARM_UP = 20;
/** A part of references, one that is in none, an amount: each over all payouts. */
const SEARCHES = ['/search?text=-77', '/search?text=no-such-reference', '/search?text=12.50'];

/** How long the list of runs and the search take, as a browser on this machine sees it; `pages` is how many there are. */
export async function measureRunsPage(
  { base, cookie }: { base: string; cookie: string },
  { pages, asked }: { pages: number; asked: number },
): Promise<string> {
  const paths = [
    '/runs',
    `/runs?page=${pages}`,
    '/runs?state=finished',
    '/runs?state=paused',
    '/runs?text=payouts-77',
    ...SEARCHES,
  ];
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const took = new Map<string, number[]>(paths.map((path) => [path, []]));
  for (let round = -WARM_UP; round < asked; round++) {
    for (const [path, times] of took) {
      const ms = await timeOf(new URL(path, base), { agent, cookie });
      if (round >= 0) times.push(ms);
    }
  }
  agent.destroy();
  const rows = [...took].map(([path, times]) => [
    `\`${path}\``,
    ...[0.5, 0.95, 1].map((share) => quantile(times, share).toFixed(1)),
  ]);
  return table(['page', 'median, ms', '95 %', 'longest'], rows);
}

async function timeOf(url: URL, { agent, cookie }: { agent: Agent; cookie: string }): Promise<number> {
  const start = performance.now();
  const request = get(url, { agent, headers: { cookie } });
  const [answer]: IncomingMessage[] = await once(request, 'response');
  if (answer?.statusCode !== 200) throw new Error(`${url.pathname} answered ${answer?.statusCode}`);
  answer.resume();
  await once(answer, 'end');
  return performance.now() - start;
}
