import type { ServiceSettings } from '../config/config.ts';
import type { PayDeps } from '../pay/deps.ts';
import { Refusal, withSteps } from '../refusal.ts';
import { readRunningSandbox } from '../sandbox/running.ts';

export interface LookUpsDeps {
  readonly config: { readonly service: ServiceSettings | undefined; readonly dataDir: string };
  readonly openPay: (service: { settings: ServiceSettings; isSandbox: boolean }) => Promise<PayDeps>;
}

/**
 * Opens the service for look-ups, once: the one that is configured, else the sandbox that another process, or another part
 * of this one, runs on this data directory; it is opened again when it has another address. Throws a Refusal (unavailable) when
 * nobody runs one.
 */
export function openLookUps({ config, openPay }: LookUpsDeps): () => Promise<PayDeps> {
  let opened: { readonly url: string; readonly pay: Promise<PayDeps> } | undefined;
  return async () => {
    const settings = config.service ?? (await runningSandbox(config.dataDir));
    if (opened?.url === settings.url) return await opened.pay;
    const pay = openPay({ settings, isSandbox: config.service === undefined });
    opened = { url: settings.url, pay };
    pay.catch(() => {
      opened = undefined;
    });
    return await pay;
  };
}

async function runningSandbox(dataDir: string): Promise<ServiceSettings> {
  const running = await readRunningSandbox(dataDir);
  if (running !== undefined) return running;
  throw new Refusal(
    'The sandbox is not running and cannot be asked.',
    withSteps`Start one: ${{ to: 'start-sandbox' }}.`,
    {
      kind: 'unavailable',
    },
  );
}
