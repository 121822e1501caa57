import { once } from 'node:events';
import type { App } from '../../app.ts';
import { durationText } from '../../duration.ts';
import { isRedisLoss } from '../../redis/loss.ts';
import { Refusal } from '../../refusal.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';

const TRY_AGAIN_MS = 1000;
/** So long a Redis may take that is asked after a signal to end. */
const ANSWER_SECONDS_MAX = 4;
const SECOND_MS = 1000;

interface Waiting {
  readonly waitMs: number;
  readonly stop: AbortSignal;
}

/** Does work that may be done again, and does it again after Redis went away meanwhile, for as long as that is waited for. */
export type Patiently = <Result>(work: () => Promise<Result>) => Promise<Result>;

export function openPatience({ clock }: Pick<App, 'clock'>, { waitMs, stop }: Waiting): Patiently {
  return async (work) => {
    let lostAt: number | undefined;
    while (true) {
      try {
        return await work();
      } catch (error) {
        if (!isRedisLoss(error) || stop.aborted) throw error;
        lostAt ??= clock.monotonic();
        if (clock.monotonic() - lostAt >= waitMs) throw refuseSilentRedis(waitMs, error);
      }
      await clock.sleep(TRY_AGAIN_MS, stop);
    }
  };
}

/** For a Redis that was waited for so long. */
export function refuseSilentRedis(waitMs: number, cause: unknown): Refusal {
  return new Refusal(
    `Redis has not answered for ${durationText(waitMs)}.`,
    'When Redis is back, start the same command again: it carries on.',
    { kind: 'unavailable', cause },
  );
}

interface LastWords {
  readonly stop: AbortSignal;
  readonly say: (line: string) => void;
  /** How far the work is, as it was known last. */
  readonly sentence: () => string;
}

/** Work that a signal ends; where Redis does not answer then, it is left as it is, and what is known of it is said. */
export async function unlessRedisIsGone(
  app: Pick<App, 'clock' | 'ledger'>,
  { stop, say, sentence }: LastWords,
  work: () => Promise<ExitCode>,
): Promise<ExitCode> {
  const over = new AbortController();
  const working = work().catch((error: unknown) => {
    if (stop.aborted && isRedisLoss(error)) return 'gone' as const;
    throw error;
  });
  try {
    const code = await Promise.race([working, redisGone(app, { stop, over: over.signal })]);
    if (code !== 'gone') return code;
    const known = sentence();
    const last = known === '' ? '' : ` When it last did, ${known}`;
    say(`Interrupted; Redis does not answer, or cannot work.${last} The same command carries on when it can.`);
    return EXIT.interrupted;
  } finally {
    over.abort();
  }
}

/** Resolves once Redis does not answer after the signal to end; never where it does. */
async function redisGone(
  { clock, ledger }: Pick<App, 'clock' | 'ledger'>,
  { stop, over }: { stop: AbortSignal; over: AbortSignal },
): Promise<'gone'> {
  if (!stop.aborted) await once(stop, 'abort', { signal: over });
  let hasAnswered = true;
  while (hasAnswered && !over.aborted) {
    await clock.sleep(TRY_AGAIN_MS, over);
    const answer = ledger.state.read().then(() => true);
    hasAnswered = await Promise.race([answer, tooLate(clock, over)]).catch(() => false);
  }
  return 'gone';
}

/** In steps: where this process itself was busy for long, an answer that is there is seen before the last of them. */
async function tooLate(clock: App['clock'], over: AbortSignal): Promise<false> {
  for (let seconds = 0; seconds < ANSWER_SECONDS_MAX; seconds++) await clock.sleep(SECOND_MS, over);
  return false;
}
