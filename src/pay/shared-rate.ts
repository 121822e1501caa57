import { z } from 'zod';
import type { Clock } from '../clock.ts';
import type { Config } from '../config/config.ts';
import type { LedgerState } from '../ledger/season/ledger-state.ts';
import type { Log } from '../log.ts';
import type { Answer } from '../service/answer.ts';
import type { Operation } from '../service/client.ts';
import { firstRate, nextRate, type Rate, type RateBounds, type SeenAnswers } from './next-rate.ts';

/** How old what a process knows of the rate may be, and how long it gathers good answers. */
const FRESH_MS = 250;

const rateSchema = z.object({
  perSecond: z.number().positive(),
  limit: z.number().nullable(),
  isEstimate: z.boolean(),
  cutAt: z.number(),
});

/** One rate for all workers, as this process knows it. */
export interface SharedRate {
  /** Payment requests a second, no older than a quarter of a second. */
  readonly perSecond: () => Promise<number>;
  /** Learns from an answer of the service. */
  readonly saw: (operation: Operation, answer: Answer) => void;
}

/**
 * A rate that climbs while the service answers well, and halves when it refuses or does not answer in time (next-rate.ts). It is one small key
 * of the ledger, written by whoever saw something. When Redis fails, the process keeps the rate that it knows.
 */
export function openSharedRate(
  head: Pick<LedgerState, 'swapRate'>,
  { bounds, clock, log }: { bounds: RateBounds; clock: Clock; log: Log },
): SharedRate {
  let text = '';
  let rate = firstRate(bounds);
  let readAt = Number.NEGATIVE_INFINITY;
  let seen: SeenAnswers = { well: 0, refused: 0 };
  let stepping: Promise<void> | undefined;

  async function step(): Promise<void> {
    const gathered = seen;
    seen = { well: 0, refused: 0 };
    readAt = clock.monotonic();
    let found = await head.swapRate('', '');
    while (gathered.well + gathered.refused > 0) {
      const next = nextRate(rateOf(found.text, bounds), gathered, { now: found.now, bounds });
      const written = await head.swapRate(found.text, JSON.stringify(next));
      if (written.isOurs) {
        if (gathered.refused > 0 && next.cutAt === found.now)
          log.warn('the service refuses: the rate is halved', { count: Math.round(next.perSecond) });
        found = { ...written, text: JSON.stringify(next) };
        break;
      }
      // Somebody else was faster: what was seen counts from where they left it.
      found = written;
    }
    text = found.text;
    rate = rateOf(text, bounds);
  }

  /** One step at a time. */
  async function stepOnce(): Promise<void> {
    stepping ??= step()
      .catch((error: unknown) => log.warn('the rate could not be shared', { error }))
      .finally(() => {
        stepping = undefined;
      });
    await stepping;
  }

  const isStale = (): boolean => clock.monotonic() - readAt >= FRESH_MS;

  return {
    async perSecond() {
      if (isStale()) await stepOnce();
      return rate.perSecond;
    },
    saw(operation, answer) {
      if (isTooMuch(answer)) seen = { ...seen, refused: seen.refused + 1 };
      else if (operation === 'payment' && isWell(answer)) seen = { ...seen, well: seen.well + 1 };
      if (seen.refused > 0 || isStale()) void stepOnce();
    },
  };
}

/** The rate at which payments leave now; undefined where it is not limited. */
export async function rateNow(
  head: Pick<LedgerState, 'swapRate'>,
  { ratePerSecond: top, ratePerSecondMin: floor = top }: Pick<Config, 'ratePerSecond' | 'ratePerSecondMin'>,
): Promise<number | undefined> {
  if (top === undefined || floor === undefined || floor === top) return top;
  return rateOf((await head.swapRate('', '')).text, { floor, top }).perSecond;
}

/** What stands in Redis moves the rate within its bounds alone, and what cannot be read is no rate. */
function rateOf(text: string, bounds: RateBounds): Rate {
  const rate = rateSchema.safeParse(jsonOf(text)).data;
  if (rate === undefined) return firstRate(bounds);
  return { ...rate, perSecond: Math.min(bounds.top, Math.max(bounds.floor, rate.perSecond)) };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isTooMuch(answer: Answer): boolean {
  return answer.kind === 'answered' ? answer.status === 429 : answer.kind === 'lost' && answer.reason === 'time-out';
}

function isWell(answer: Answer): boolean {
  return answer.kind === 'answered' && answer.status >= 200 && answer.status < 300;
}
