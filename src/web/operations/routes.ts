import type { App } from '../../app.ts';
import { type Figures, openMetrics } from '../../metrics.ts';
import type { Web, WebDeps } from '../web.ts';
import { FIGURES_EVERY_MS, openFigures } from './figures.ts';
import { openLook, openPatientLook } from './look.ts';
import { addQueueBoard } from './queue-board.ts';

/** The service is asked at most so often, whoever asks us. */
const SERVICE_EVERY_MS = 15_000;
/** Longer than that, and it counts as not reachable. */
const SERVICE_MS_MAX = 5000;

/** What has to hold before work can be done here. */
const READY_CHECKS = ['redis', 'season', 'service', 'movement'] as const;
type ReadyCheck = (typeof READY_CHECKS)[number];
type Readiness = Readonly<Record<ReadyCheck, boolean>>;

/** Looks whether payouts can be paid, at a price that does not grow with how often it is asked. */
function openReadiness(
  app: Pick<App, 'asker' | 'clock' | 'config'>,
  readFigures: () => Promise<Figures>,
): () => Promise<Readiness> {
  const isServiceThere = openLook(app.clock, SERVICE_EVERY_MS, openServiceLook(app));
  return async () => {
    const [{ ledger }, service] = await Promise.all([readFigures(), isServiceThere()]);
    // What an operator has accepted keeps nobody from paying; the figures still tell of it.
    const isDurable = ledger?.durable === true || app.config.redisDurability === 'overridden';
    return {
      redis: ledger !== null && isDurable,
      season: ledger?.seasonOpen === true,
      service,
      movement: ledger?.moving === true,
    };
  };
}

/** Whether the service answers; payrun's own sandbox lives and dies with the process that pays. */
function openServiceLook({ asker, clock }: Pick<App, 'asker' | 'clock'>): () => Promise<boolean> {
  if (asker === undefined) return async () => true;
  const ask = openPatientLook(clock, SERVICE_MS_MAX, () => asker.testToken());
  return async () => {
    try {
      const answer = await ask();
      return answer?.kind === 'answered' && answer.status < 500;
    } catch {
      // No token was given, or it could not be kept.
      return false;
    }
  };
}

/** What machines ask: whether payrun is alive, whether it can work, and its figures; and the queues for admins. */
export async function addOperations(web: Web, deps: WebDeps): Promise<void> {
  const { app, queues } = deps;
  const metrics = deps.metrics ?? openMetrics();
  const readFigures = openLook(
    app.clock,
    FIGURES_EVERY_MS,
    openFigures({ app, metrics, ...(queues === undefined ? {} : { queues }) }),
  );
  const readReadiness = openReadiness(app, readFigures);

  web.get('/healthz', { config: { act: 'public' } }, async (_request, reply) => reply.status(204).send());

  web.get('/readyz', { config: { act: 'public' } }, async (_request, reply) => {
    const found = await readReadiness();
    const failing = READY_CHECKS.filter((check) => !found[check]);
    return await reply
      .status(failing.length === 0 ? 200 : 503)
      .type('application/json')
      .send(JSON.stringify({ ready: failing.length === 0, checks: found }));
  });

  // A program brings a key with the role viewer, as for everything that it may read.
  web.get('/metrics', { config: { act: 'read', looksByItself: true } }, async (_request, reply) =>
    reply.type(metrics.contentType).send(await metrics.text(await readFigures())),
  );

  if (queues !== undefined) await addQueueBoard(web, deps, queues);
}
