import type { Log } from '../src/log.ts';
import type { DueQueue, Notifier } from '../src/notify/notifier.ts';

/** What notifications need of a process, and no more: nothing that pays stands in it. */
export interface NotifyDeps {
  readonly app: {
    readonly notifier: Notifier;
    readonly log: Log;
    readonly jobs: { add(name: 'notify', jobs: readonly { id: string; payload: DueQueue }[]): Promise<void> };
  };
  readonly stopping: AbortSignal;
}

/** Delivers what waits for an endpoint about a run, or about the ledger. */
export async function notify({ app, stopping }: NotifyDeps, due: DueQueue): Promise<void> {
  await app.notifier.deliver(due, stopping);
}

/**
 * Has it looked at what is to be told, and gives a job to each queue that wants to be delivered. For each tick of each
 * process, for only those that know endpoints can tell them anything. Its faults are nobody else's.
 */
export async function wakeNotify({ app }: Pick<NotifyDeps, 'app'>): Promise<void> {
  try {
    const due = await app.notifier.look();
    const jobs = due.map(({ endpoint, queue }) => ({
      id: `notify-${endpoint}-${queue}`,
      payload: { endpoint, queue },
    }));
    await app.jobs.add('notify', jobs);
  } catch (error) {
    app.log.warn('no notification could be made', { error });
  }
}
