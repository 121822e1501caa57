import { headText } from '../audit/entry.ts';
import type { Clock } from '../clock.ts';
import type { NotifySettings } from '../config/notify.ts';
import { LEDGER_QUEUE } from '../ledger/keys.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { PayoutChoices, ToldPayouts, Waiting } from '../ledger/outbox.ts';
import type { Log } from '../log.ts';
import { type Announced, announcedOf, announceRun, pendingDueAt, type RunAnnouncement, type RunLook } from './news.ts';
import { type Draft, type Origin, writeNotification } from './notification.ts';
import { choicesOf, noteChoices, readPayoutNews } from './payout-news.ts';

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
 * Derives from the ledger what is to be announced. May run in several processes at once, and end anywhere: what was announced
 * is noted with the notification itself. Each process keeps its own place among the old runs.
 */
export function openObserver(deps: ObserveDeps): Observer {
  const { ledger, clock } = deps;
  let from = 0;
  return {
    async observe() {
      const choices = await observeHead(deps);
      if (choices === undefined) return;
      const { next, since, runIds } = await ledger.outbox.findNews(from, clock.now(), choices);
      from = next;
      for (let at = 0; at < runIds.length; at += RUNS_AT_A_TIME) {
        await Promise.all(
          runIds.slice(at, at + RUNS_AT_A_TIME).map((runId) => observeOne(deps, { runId, since, choices })),
        );
      }
    },
  };
}

interface Place {
  readonly runId: string;
  /** What happened before is not announced. */
  readonly since: number;
  readonly choices: PayoutChoices;
}

/** A run whose record is damaged keeps nobody from hearing of the others. */
async function observeOne(deps: ObserveDeps, place: Place): Promise<void> {
  try {
    await observeRun(deps, place);
  } catch (error) {
    deps.log.warn('no notification could be made for a run', { run: place.runId, error });
  }
}

async function observeRun(deps: ObserveDeps, { runId, since, choices }: Place): Promise<void> {
  const { ledger, settings, clock } = deps;
  const news = await ledger.outbox.readNews(runId);
  const run = await ledger.runs.read(runId);
  if (run === undefined) return;
  const look: RunLook = { news, run, since, nowMs: clock.now() };
  const announced = announcedOf(look);
  const pendingLong = await countPending(deps, look, announced);
  const payouts = await readPayoutNews(ledger.outbox, run.state === 'recording' ? NOBODY : choices, runId);
  const announcement = announceRun({ ...look, pendingLong, payouts }, announced, settings);
  await announce(
    deps,
    { queue: runId, version: news.version, drafts: announcement.drafts, note: noteOf(look, announcement) },
    { ...announcement, told: payouts.told },
  );
}

/** Of a run that is being recorded no payout is told: that it was accepted comes first. */
const NOBODY: PayoutChoices = new Map();

function noteOf({ news }: RunLook, { announced, againAt }: RunAnnouncement): Record<string, string> {
  const cursor = news.events.at(-1)?.id;
  return {
    what: JSON.stringify(announced),
    changes: String(news.changes ?? ''),
    again: String(againAt ?? ''),
    ...(cursor === undefined ? {} : { cursor }),
  };
}

async function countPending(deps: ObserveDeps, look: RunLook, announced: Announced): Promise<number | undefined> {
  const { run, nowMs } = look;
  const dueAt = pendingDueAt(look, announced, deps.settings);
  if (dueAt === null) return announced.pending.count === 0 ? undefined : 0;
  if (dueAt > nowMs) return undefined;
  const lines = deps.ledger.runs.linesIn(run.id, { state: 'accepted' });
  return await deps.ledger.outbox.countPending(run.id, nowMs - deps.settings.pendingMs, lines);
}

/** Gives which endpoints are told of payouts; undefined when another process noted something meanwhile. */
async function observeHead(deps: ObserveDeps): Promise<PayoutChoices | undefined> {
  const { state: head, outbox } = deps.ledger;
  const { endpoints } = deps.settings;
  const { version, note } = await outbox.readLedgerAnnounced();
  const halt = (await head.read()).halt ?? '';
  const at = deps.clock.now();
  const changes = noteChoices(endpoints, note, at);
  const drafts: Draft[] = [];
  if (halt !== (note['halt'] ?? '')) {
    drafts.push(halt === '' ? { event: 'released', at } : { event: 'halted', at, reason: halt });
    changes['halt'] = halt;
  }
  if (Object.keys(changes).length > 0) {
    const isNoted = await announce(deps, { queue: LEDGER_QUEUE, version, drafts, note: changes });
    if (!isNoted) return undefined;
  }
  return choicesOf(endpoints, { ...note, ...changes });
}

/** Notifications for all endpoints that want them. */
export interface Drafts {
  readonly queue: string;
  readonly version: string | null;
  readonly drafts: readonly Draft[];
  readonly note: Readonly<Record<string, string>>;
}

/** Puts notifications into the outbox and notes that they were announced. False when another process did so meanwhile. */
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
  { queue, version, drafts, note }: Drafts,
  { isSettled = false, told = [] }: { isSettled?: boolean; told?: readonly ToldPayouts[] } = {},
): Promise<boolean> {
  const nowMs = clock.now();
  const known = drafts.length === 0 ? NOTHING_TOLD : await readLedger(ledger);
  const push = drafts.flatMap((draft) => {
    const waiting: Waiting = { queuedAt: nowMs, body: writeNotification(draft, { ...origin, ...known }) };
    const wanting = settings.endpoints.filter(
      ({ name, events }) => events.has(draft.event) && (draft.to ?? name) === name,
    );
    return wanting.map(({ name }) => ({ endpoint: name, waiting }));
  });
  const what = { queue, version, note, forget: isSettled, push, told, nowMs };
  const { announced, full } = await ledger.outbox.announce(what);
  if (full > 0) log.error('the outbox of an endpoint is full: notifications went to its dead letters', { count: full });
  return announced;
}

const NOTHING_TOLD = { instance: '', auditHead: null };

async function readLedger({ state, audit }: Pick<Ledger, 'state' | 'audit'>) {
  const [{ instance }, head] = await Promise.all([state.read(), audit.head()]);
  return { instance, auditHead: headText(head) };
}
