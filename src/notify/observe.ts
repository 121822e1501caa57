import { headText } from '../audit/entry.ts';
import type { Clock } from '../clock.ts';
import { LEDGER_QUEUE } from '../ledger/keys.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Waiting } from '../ledger/outbox.ts';
import type { Log } from '../log.ts';
import { type Announced, announcedOf, announceRun, pendingDueAt, type RunLook, type RunTelling } from './news.ts';
import { type Draft, type Origin, writeNotification } from './notification.ts';
import type { NotifySettings } from './settings.ts';

/** Runs that are looked at together. */
const RUNS_AT_A_TIME = 20;

export interface ObserveDeps {
  readonly ledger: Pick<Ledger, 'state' | 'runs' | 'outbox' | 'audit'>;
  readonly settings: NotifySettings;
  readonly origin: Omit<Origin, 'instance' | 'auditHead'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Looks at runs in turn, a part of the old ones each time. */
export interface Observer {
  observe(): Promise<void>;
}

/**
 * Derives from the ledger what is to be told. May run in several processes at once, and end anywhere: what was told is noted
 * with the notification itself. Each process keeps its own place among the old runs.
 */
export function openObserver(deps: ObserveDeps): Observer {
  const { ledger, clock } = deps;
  let from = 0;
  return {
    async observe() {
      await observeHead(deps);
      const { next, since, runIds } = await ledger.outbox.findNews(from, clock.now());
      from = next;
      for (let at = 0; at < runIds.length; at += RUNS_AT_A_TIME) {
        await Promise.all(runIds.slice(at, at + RUNS_AT_A_TIME).map((runId) => observeOne(deps, runId, since)));
      }
    },
  };
}

/** A run whose record is damaged keeps nobody from hearing of the others. */
async function observeOne(deps: ObserveDeps, runId: string, since: number): Promise<void> {
  try {
    await observeRun(deps, runId, since);
  } catch (error) {
    deps.log.warn('no notification could be made for a run', { run: runId, error });
  }
}

async function observeRun(deps: ObserveDeps, runId: string, since: number): Promise<void> {
  const { ledger, settings, clock } = deps;
  const news = await ledger.outbox.readNews(runId);
  const run = await ledger.runs.read(runId);
  if (run === undefined) return;
  const look: RunLook = { news, run, since, nowMs: clock.now() };
  const told = announcedOf(look);
  const pendingLong = await countPending(deps, look, told);
  const telling = announceRun({ ...look, pendingLong }, told, settings);
  await announce(
    deps,
    { queue: runId, version: news.version, drafts: telling.drafts, note: noteOf(look, telling) },
    telling,
  );
}

function noteOf({ news }: RunLook, { told, againAt }: RunTelling): Record<string, string> {
  const cursor = news.events.at(-1)?.id;
  return {
    what: JSON.stringify(told),
    changes: String(news.changes ?? ''),
    again: String(againAt ?? ''),
    ...(cursor === undefined ? {} : { cursor }),
  };
}

async function countPending(deps: ObserveDeps, look: RunLook, told: Announced): Promise<number | undefined> {
  const { run, nowMs } = look;
  const dueAt = pendingDueAt(look, told, deps.settings);
  if (dueAt === null) return told.pending.count === 0 ? undefined : 0;
  if (dueAt > nowMs) return undefined;
  const lines = deps.ledger.runs.linesIn(run.id, { state: 'accepted' });
  return await deps.ledger.outbox.countPending(run.id, nowMs - deps.settings.pendingMs, lines);
}

async function observeHead(deps: ObserveDeps): Promise<void> {
  const { state: head, outbox } = deps.ledger;
  const { version, note } = await outbox.readLedgerTold();
  const halt = (await head.read()).halt ?? '';
  if (halt === (note['halt'] ?? '')) return;
  const at = deps.clock.now();
  const draft: Draft = halt === '' ? { event: 'released', at } : { event: 'halted', at, reason: halt };
  await announce(deps, { queue: LEDGER_QUEUE, version, drafts: [draft], note: { halt } });
}

/** What is told, for all endpoints that want to hear it. */
export interface ToldDrafts {
  readonly queue: string;
  readonly version: string | null;
  readonly drafts: readonly Draft[];
  readonly note: Readonly<Record<string, string>>;
}

/** Puts notifications into the outbox and notes that they were told. False when somebody else told meanwhile. */
export async function announce(
  {
    ledger,
    settings,
    origin,
    clock,
    log,
  }: Pick<ObserveDeps, 'settings' | 'origin' | 'clock' | 'log'> & {
    ledger: Pick<Ledger, 'state' | 'outbox' | 'audit'>;
  },
  { queue, version, drafts, note }: ToldDrafts,
  { isSettled = false }: { isSettled?: boolean } = {},
): Promise<boolean> {
  const nowMs = clock.now();
  const known = drafts.length === 0 ? NOTHING_TOLD : await readLedger(ledger);
  const push = drafts.flatMap((draft) => {
    const waiting: Waiting = { queuedAt: nowMs, body: writeNotification(draft, { ...origin, ...known }) };
    const wanting = settings.endpoints.filter(({ events }) => events.has(draft.event));
    return wanting.map(({ name }) => ({ endpoint: name, waiting }));
  });
  const { told, full } = await ledger.outbox.tell({ queue, version, note, forget: isSettled, push, nowMs });
  if (full > 0) log.error('the outbox of an endpoint is full: notifications went to its dead letters', { count: full });
  return told;
}

const NOTHING_TOLD = { instance: '', auditHead: null };

async function readLedger({ state, audit }: Pick<Ledger, 'state' | 'audit'>) {
  const [{ instance }, head] = await Promise.all([state.read(), audit.head()]);
  return { instance, auditHead: headText(head) };
}
