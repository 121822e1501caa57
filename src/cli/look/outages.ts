import type { App } from '../../app.ts';
import { type OutageDeps, watchOutages } from '../../runs/outages.ts';
import { WRITE_OFF } from '../command-words.ts';
import { say } from '../print.ts';
import type { Progress } from '../run/progress.ts';

interface Telling {
  readonly stop: AbortSignal;
  /** How far the work is, for who is told that it waits. */
  readonly progress?: Pick<Progress, 'say' | 'sentence' | 'setAway'>;
  /** The same as a sentence, where nothing else is shown of it. */
  readonly sentence?: () => string;
  /** As in `OutageWatching`. */
  readonly redisWaitMs?: number;
}

/** Says what does not answer from now on, until a signal stops the command or the app is closed. */
export function tellOutages(
  app: OutageDeps & Pick<App, 'onClose'>,
  { stop, progress, sentence, redisWaitMs }: Telling,
): void {
  const closed = new AbortController();
  app.onClose(async () => closed.abort());
  const telling =
    progress === undefined
      ? { say, progress: sentence }
      : { say: progress.say, progress: progress.sentence, setAway: progress.setAway };
  void watchOutages(app, {
    stop: AbortSignal.any([stop, closed.signal]),
    redisWaitMs,
    writeOff: WRITE_OFF,
    neverAnswered:
      'This process has had no usable answer from it: if its address may be wrong, "payrun doctor" checks it.',
    ...telling,
  });
}
