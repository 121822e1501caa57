import type { App } from '../../src/app.ts';

/** A notification for an endpoint that has none of those settings any more, given up after its first try. */
export async function giveUp(
  { ledger: { outbox } }: Pick<App, 'ledger'>,
  { id, endpoint = 'hook', reason = 'status 500' }: { id: string; endpoint?: string; reason?: string },
): Promise<void> {
  const nowMs = Date.now();
  const place = { endpoint, queue: `run-${id}`, by: 'test' };
  const waiting = { queuedAt: nowMs, body: JSON.stringify({ ...NOTIFICATION, id }) };
  await outbox.announce({ queue: place.queue, version: null, note: {}, push: [{ endpoint, waiting }], nowMs });
  const taken = await outbox.take(place, nowMs);
  const end = { what: 'dead', reason, nowMs, againMs: nowMs } as const;
  if (!(await outbox.settle({ ...place, ...end, item: taken?.item ?? '' }))) throw new Error(`${id} was not given up`);
}

const NOTIFICATION = {
  event: 'halted',
  at: '2026-03-30T06:30:00.000Z',
  environment: 'test',
  sandbox: true,
  runId: null,
  run: null,
  reason: 'a test',
  payouts: null,
  waitingSince: null,
  refused: null,
  disks: null,
};
