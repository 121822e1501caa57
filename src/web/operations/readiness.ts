import type { App } from '../../app.ts';
import type { Figures } from '../../metrics.ts';
import { openLook, openPatientLook } from './look.ts';

/** The service is asked at most so often, whoever asks us. */
const SERVICE_EVERY_MS = 15_000;
/** Longer than that, and it counts as not reachable. */
const SERVICE_MS_MAX = 5000;

/** What has to hold before work can be done here. */
export const READY_CHECKS = ['redis', 'season', 'service', 'movement'] as const;
export type ReadyCheck = (typeof READY_CHECKS)[number];
export type Readiness = Readonly<Record<ReadyCheck, boolean>>;

/** Looks whether payouts can be paid, at a price that does not grow with how often it is asked. */
export function openReadiness(
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
