import type { Clock } from '../../clock.ts';
import type { Log } from '../../log.ts';
import type { Run } from '../../payout.ts';
import { isStill } from '../../runs/progress.ts';
import { Problem } from '../problem.ts';
import { type Look, type Looks, liveEvents, type Watcher } from './live-events.ts';
import { isAdding, type ProgressSources, progressHtml, readProgress } from './progress-part.tsx';

const STREAMS_MAX = 1000;
/** A page each; more than anybody looks at. */
const STREAMS_PER_PERSON_MAX = 10;

interface StreamLimits {
  /** Counts one more stream of a person; gives what counts it out again. Throws a Problem (429) when it is one too many. */
  enter(person: string): () => void;
}

function openStreamLimits(): StreamLimits {
  const persons = new Map<string, number>();
  let all = 0;
  return {
    enter(person) {
      const own = persons.get(person) ?? 0;
      if (own >= STREAMS_PER_PERSON_MAX)
        throw tooMany(`You follow ${own} runs already.`, 'Close a page that shows one.');
      if (all >= STREAMS_MAX) throw tooMany(`${all} people follow runs already.`, 'Reload the page from time to time.');
      persons.set(person, own + 1);
      all++;
      let isIn = true;
      return () => {
        if (!isIn) return;
        isIn = false;
        all--;
        const left = (persons.get(person) ?? 1) - 1;
        if (left > 0) persons.set(person, left);
        else persons.delete(person);
      };
    },
  };
}

function tooMany(message: string, remedy: string): Problem {
  return new Problem(429, message, remedy);
}

const LOOK_EVERY_MS = 1000;

export interface LiveDeps extends ProgressSources {
  readonly clock: Pick<Clock, 'monotonic' | 'sleep'>;
  readonly log: Log;
  readonly read: (runId: string) => Promise<Run>;
}

export interface Stream {
  readonly events: AsyncGenerator<string, void>;
  /** To be called once it has ended, also when nothing of it was read. */
  readonly release: () => void;
}

/** Who looks on, by a session of theirs. */
export interface Viewer extends Omit<Watcher, 'hasLeft'> {
  readonly person: string;
  readonly sessionId: string;
}

export interface Live {
  /** Throws a Problem (429) when a person, or all together, have too many open. */
  follow(runId: string, viewer: Viewer): Stream;
  /** Ends the streams of a session at once. */
  signedOut(sessionId: string): void;
  /** Ends all streams; browsers come back to whoever serves then. */
  close(): void;
}

/** A run that somebody looks at. */
interface Topic extends Looks {
  readonly show: (look: Look) => void;
  /** Has all of its watchers look whether they are to go on. */
  readonly wake: () => void;
  readonly close: () => void;
  watchers: number;
}

/** The live progress of runs for everybody who looks on through this process: however many do, a run is read once a second. */
export function openLive(deps: LiveDeps): Live {
  const closing = new AbortController();
  const limits = openStreamLimits();
  const topics = new Map<string, Topic>();
  const open = new Set<{ readonly sessionId: string; hasLeft: boolean }>();

  async function keepLooking(runId: string, topic: Topic): Promise<void> {
    let isFailing = false;
    while (topic.watchers > 0 && !closing.signal.aborted) {
      try {
        topic.show(await lookAt(deps, await deps.read(runId)));
        isFailing = false;
      } catch (error) {
        if (!isFailing) deps.log.warn('the progress of a run cannot be read', { run: runId, error });
        isFailing = true;
      }
      await deps.clock.sleep(LOOK_EVERY_MS, closing.signal);
    }
    topics.delete(runId);
    topic.close();
  }

  function begin(runId: string): Topic {
    const topic = openTopic();
    topics.set(runId, topic);
    // It looks for the first time after the watcher has come in.
    void Promise.resolve().then(() => keepLooking(runId, topic));
    return topic;
  }

  return {
    follow(runId, { person, sessionId, ...viewer }) {
      const leave = limits.enter(person);
      const topic = topics.get(runId) ?? begin(runId);
      topic.watchers++;
      const own = { sessionId, hasLeft: false };
      open.add(own);
      const release = (): void => {
        leave();
        if (open.delete(own)) topic.watchers--;
      };
      const watcher = { ...viewer, hasLeft: () => own.hasLeft };
      return { events: liveEvents(deps.clock, fromNowOn(topic), watcher), release };
    },
    signedOut(sessionId) {
      for (const one of open) one.hasLeft ||= one.sessionId === sessionId;
      for (const topic of topics.values()) topic.wake();
    },
    close() {
      closing.abort();
      for (const topic of topics.values()) topic.close();
    },
  };
}

/** What others saw last may be older than the page that somebody has who comes in. */
function fromNowOn(looks: Looks): Looks {
  const before = looks.latest();
  return {
    ...looks,
    latest() {
      const look = looks.latest();
      return look === before ? undefined : look;
    },
  };
}

async function lookAt(sources: ProgressSources, run: Run): Promise<Look> {
  const progress = await readProgress(sources, run);
  return {
    id: `${run.changes}${progress.isHalted ? ' halted' : ''}`,
    html: progressHtml(progress, sources.zone),
    isLast: isStill(run) && !isAdding(run, progress.sums),
  };
}

function openTopic(): Topic {
  let latest: Look | undefined;
  let isClosed = false;
  let waiting: (() => void)[] = [];
  const tellAll = (): void => {
    const told = waiting;
    waiting = [];
    for (const tell of told) tell();
  };
  return {
    watchers: 0,
    latest: () => latest,
    next: () =>
      new Promise((resolve) => {
        waiting.push(resolve);
      }),
    isClosed: () => isClosed,
    wake: tellAll,
    show(look) {
      latest = look;
      tellAll();
    },
    close() {
      isClosed = true;
      tellAll();
    },
  };
}
