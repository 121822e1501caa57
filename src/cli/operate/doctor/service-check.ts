import { once } from 'node:events';
import { systemClock, systemRandom } from '../../../clock.ts';
import type { Config, ServiceSettings } from '../../../config/config.ts';
import { durationText } from '../../../duration.ts';
import { type Log, silentLog } from '../../../log.ts';
import type { Answer } from '../../../service/answer.ts';
import { openService, type Service } from '../../../service/client.ts';
import { TokenRefused, TokenUnavailable } from '../../../service/token.ts';
import { refuseUnavailable } from '../../../service/token-refusal.ts';
import { VERSION } from '../../../version.ts';
import type { Check, Found } from './check.ts';

/** Whether the service can be reached and gives a token that it takes. Sends nothing that could be paid. */
export async function examineService(config: Config, check: Check): Promise<void> {
  const { service: settings } = config;
  if (settings === undefined) {
    await check('service', async () => ({ found: 'none is configured: payrun uses its sandbox, no money moves' }));
    await check('access token', async () => ({ found: 'none is needed' }));
    return;
  }
  const setback = openSetback();
  const service = openDoctorService(config, { settings, log: setback.log });
  try {
    const refused = await check('service', async () => {
      const value = await askToken(service, setback.met);
      return { ...describeClock(settings.url, service.clockDifferenceMs()), value };
    });
    if (refused !== undefined) await check('access token', async () => await checkToken(service, refused));
  } finally {
    await service.close();
  }
}

/** A smaller difference holds up nobody. */
const DIFFERENCE_MS_MAX = 5000;

function describeClock(url: string, differenceMs: number): Found {
  if (differenceMs <= DIFFERENCE_MS_MAX) return { found: `${url} answers` };
  const difference = durationText(differenceMs);
  return {
    found: `${url} answers, and its clock differs from this host's by ${difference}`,
    advice: `Set the clocks. Until then a payout whose request was lost is paid ${difference} later than it could be.`,
  };
}

/** Tells of the first token request that came to nothing: the client would go on trying for a minute. */
function openSetback(): { readonly log: Log; readonly met: Promise<never> } {
  const signal = new AbortController();
  const met = once(signal.signal, 'abort').then(() => {
    throw new TokenUnavailable(String(signal.signal.reason));
  });
  return { log: { ...silentLog, warn: (_, fields) => signal.abort(fields?.reason ?? 'no answer') }, met };
}

function openDoctorService(config: Config, { settings, log }: { settings: ServiceSettings; log: Log }): Service {
  return openService({
    settings,
    tokenStore: null,
    tokenMarginMs: config.tokenMarginMs,
    brake: { remainingMs: () => 0, hold() {} },
    requestTimeoutMs: config.requestTimeoutMs,
    concurrency: 1,
    clock: systemClock,
    random: systemRandom,
    log,
    userAgent: `payrun/${VERSION}`,
  });
}

/** Gives why the service refused a token, empty when it gave one. Throws a Refusal (exit 69) when it cannot be reached. */
async function askToken(service: Service, setback: Promise<never>): Promise<string> {
  try {
    await Promise.race([service.ready(), setback]);
    return '';
  } catch (error) {
    if (error instanceof TokenRefused) return error.message;
    if (!(error instanceof TokenUnavailable)) throw error;
    throw refuseUnavailable(error, 'Check PAYRUN_SERVICE_URL, the network, and whether the service is up.');
  }
}

async function checkToken(service: Service, refused: string): Promise<Found> {
  const remedy = 'Check PAYRUN_CLIENT_ID, PAYRUN_CLIENT_SECRET, PAYRUN_TENANT_ID and PAYRUN_ENVIRONMENT.';
  if (refused !== '') return { found: refused, remedy };
  const answer = await service.testToken();
  return isTaken(answer) ? { found: 'valid' } : { found: `not taken (${describeAnswer(answer)})`, remedy };
}

function isTaken(answer: Answer): boolean {
  return answer.kind === 'answered' && answer.status >= 200 && answer.status < 300;
}

function describeAnswer(answer: Answer): string {
  return answer.kind === 'answered' ? `HTTP ${answer.status}` : answer.reason;
}
