import { once } from 'node:events';
import type { App } from '../../app.ts';
import type { ServiceChoice } from '../../open-pay.ts';
import type { PayDeps } from '../../pay/deps.ts';
import { openLookUps } from '../../runs/look-ups.ts';
import { explainTokenFaults } from '../../service/token-refusal.ts';
import { startOwnSandbox } from './sandbox-service.ts';

const SANDBOX_POLL_MS = 250;

interface Waiting {
  readonly signal: AbortSignal;
  readonly hasEnded: () => Promise<boolean>;
}

/**
 * The service to pay through: the one that is configured, or else payrun's own sandbox. While another process runs that
 * sandbox, `isOver` is asked again and again whether there is still anything to do. Undefined when there is not, and when
 * the signal ends the wait.
 */
export async function openPayService(app: App, wait: Waiting): Promise<PayDeps | undefined> {
  const service = app.config.service === undefined ? await awaitSandbox(app, wait) : configured(app);
  if (service === undefined || wait.signal.aborted) return undefined;
  const deps = await app.openPay(service);
  if (wait.signal.aborted) return undefined;
  await Promise.race([requireToken(deps), once(wait.signal, 'abort')]);
  return wait.signal.aborted ? undefined : deps;
}

/** The service for look-ups. Starts the sandbox where it is to be asked; while another process runs it, that one's is asked. */
export async function openForLookUp(app: App): Promise<PayDeps> {
  let tries = 0;
  const own = await openPayService(app, { signal: new AbortController().signal, hasEnded: async () => tries++ > 0 });
  return own ?? (await openLookUps(app)());
}

function configured({ config }: App): ServiceChoice | undefined {
  return config.service === undefined ? undefined : { settings: config.service, isSandbox: false };
}

async function awaitSandbox(app: App, wait: Pick<Waiting, 'signal' | 'hasEnded'>): Promise<ServiceChoice | undefined> {
  while (!wait.signal.aborted && !(await wait.hasEnded())) {
    const own = await startOwnSandbox(app.config.dataDir, app);
    if (own !== undefined) {
      app.onClose(() => own.sandbox.close());
      return own.service;
    }
    await app.clock.sleep(SANDBOX_POLL_MS, wait.signal);
  }
  return undefined;
}

/** Asks for a token at once, so that wrong credentials and a service that is away are told before anything is tried. */
async function requireToken({ service }: PayDeps): Promise<void> {
  await explainTokenFaults(() => service.ready(), {
    remedy: 'Check PAYRUN_SERVICE_URL and the network, then start the same command again: it carries on.',
  });
}
