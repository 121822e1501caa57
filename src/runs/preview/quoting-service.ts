import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock, Random } from '../../clock.ts';
import type { Config, ServiceSettings } from '../../config/config.ts';
import type { Log } from '../../log.ts';
import { withSteps } from '../../refusal.ts';
import { startSandbox } from '../../sandbox/sandbox.ts';
import type { Answering } from '../../service/answering.ts';
import type { Brake } from '../../service/brake.ts';
import { openService, type Service } from '../../service/client.ts';
import { explainTokenFaults } from '../../service/token-refusal.ts';
import { VERSION } from '../../version.ts';

export interface QuotingServiceDeps {
  readonly config: Pick<Config, 'service' | 'tokenMarginMs' | 'requestTimeoutMs' | 'concurrency'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Told whether the service answers. */
  readonly answering?: Answering | undefined;
}

/**
 * Runs a task with the configured service, or with a sandbox in a folder that is gone afterwards. Its client shares nothing
 * with those that pay: its token and its pauses end with it. Throws a Refusal for credentials that the service refuses
 * and for one that cannot be reached (unavailable).
 */
export async function withQuotingService<T>(
  deps: QuotingServiceDeps,
  task: (service: Service) => Promise<T>,
): Promise<T> {
  return await withSettings(deps, async (settings) => {
    const service = openService({
      settings,
      tokenStore: null,
      tokenMarginMs: deps.config.tokenMarginMs,
      brake: openBrake(deps.clock),
      requestTimeoutMs: deps.config.requestTimeoutMs,
      concurrency: deps.config.concurrency,
      clock: deps.clock,
      random: deps.random,
      log: deps.log,
      userAgent: `payrun/${VERSION}`,
      ...(deps.answering === undefined ? {} : { answering: deps.answering }),
    });
    try {
      return await explainTokenFaults(() => task(service), {
        remedy: withSteps`Check PAYRUN_SERVICE_URL and the network with ${{ to: 'see-doctor' }}. Nothing was paid.`,
      });
    } finally {
      // Not waited for: a quote that has not come by now is of no use to anybody.
      void service.close();
    }
  });
}

async function withSettings<T>(
  { config, clock, random }: QuotingServiceDeps,
  task: (settings: ServiceSettings) => Promise<T>,
): Promise<T> {
  if (config.service !== undefined) return await task(config.service);
  const folder = await mkdtemp(join(tmpdir(), 'payrun-preview-'));
  try {
    const sandbox = await startSandbox({ folder, switches: { acceptsAnyIdentity: true }, clock, random });
    try {
      const credential = await sandbox.createCredential('preview', 'test');
      const { tenantId } = sandbox;
      const audience = `urn:servicexcurrent-test:${tenantId}`;
      return await task({ ...credential, url: sandbox.url('test'), tenantId, environment: 'test', audience });
    } finally {
      await sandbox.close();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function openBrake(clock: Clock): Brake {
  let heldUntil = Number.NEGATIVE_INFINITY;
  return {
    remainingMs: () => Math.max(0, heldUntil - clock.monotonic()),
    hold(ms) {
      heldUntil = Math.max(heldUntil, clock.monotonic() + ms);
    },
  };
}
