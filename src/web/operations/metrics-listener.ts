import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { Metrics } from '../../metrics.ts';
import { codeOf, Refusal } from '../../refusal.ts';
import { FIGURES_EVERY_MS, type FiguresDeps, openFigures } from './figures.ts';
import { openLook } from './look.ts';

const HOST = '127.0.0.1';
/** As this machine's own programs name it; a page from elsewhere that was led here names another (DNS rebinding). */
const OWN_HOST = /^(localhost|127\.0\.0\.1)(:[0-9]+)?$/;
const REQUEST_MS_MAX = 10_000;
const CONNECTIONS_MAX = 16;

/** Serves the figures of a worker. */
export interface MetricsListener {
  readonly port: number;
  close(): Promise<void>;
}

/**
 * Tells the figures of a process without a web app to this machine alone, at `/metrics`. Port 0 takes any that is free.
 * Throws a Refusal where it cannot listen.
 */
export async function listenForMetrics(
  deps: FiguresDeps & { readonly metrics: Metrics },
  port: number,
): Promise<MetricsListener> {
  const readFigures = openLook(deps.app.clock, FIGURES_EVERY_MS, openFigures(deps));
  const server = createServer(
    { requestTimeout: REQUEST_MS_MAX },
    answering(async () => await deps.metrics.text(await readFigures()), deps.metrics.contentType),
  );
  server.maxConnections = CONNECTIONS_MAX;
  server.listen(port, HOST);
  try {
    await once(server, 'listening');
  } catch (error) {
    throw new Refusal(
      `The metrics of this worker cannot be served on port ${port} (${codeOf(error) ?? 'error'}).`,
      'Give each worker of this machine a PAYRUN_METRICS_PORT of its own, or leave it out.',
      { cause: error },
    );
  }
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    async close() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function answering(read: () => Promise<string>, contentType: string): RequestListener {
  return (request, response) => {
    const end = (status: number, text: string): void => {
      response.writeHead(status, {
        'content-type': status === 200 ? contentType : 'text/plain',
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
      });
      response.end(text);
    };
    if (!OWN_HOST.test(request.headers.host ?? '')) return end(421, 'This host is not known here.\n');
    if (request.method !== 'GET' || request.url !== '/metrics') return end(404, 'There is only GET /metrics.\n');
    read().then(
      (text) => end(200, text),
      () => end(500, 'The figures could not be read.\n'),
    );
  };
}
