import type { App } from '../../app.ts';
import { Refusal } from '../../refusal.ts';
import { costUpload } from './cost.ts';
import type { Upload } from './upload.ts';

/** Files about which the service is asked at a time without anybody having pressed a button. */
const ASKED_MAX = 4;
/** So long the answer to an upload waits for what it will cost; the page shows it later otherwise. */
const WAIT_MS = 1500;

/** Asks by itself what uploaded files will cost. */
export interface Costing {
  /** Begins to ask, and waits a moment for the answer. Of too many files at a time none is asked about. */
  begin(upload: Upload): Promise<void>;
  /** Whether it is being asked now, or why nothing was answered. */
  stateOf(id: string): { readonly isAsking: boolean; readonly trouble: string | null };
  /** Ends the asking about a file that goes; resolves once nothing of it is read or written any more. */
  stop(id: string): Promise<void>;
  close(): Promise<void>;
}

interface Asking {
  readonly end: AbortController;
  readonly done: Promise<void>;
}

export function openCosting(app: App): Costing {
  const asked = new Map<string, Asking>();
  const troubles = new Map<string, string>();

  async function ask(upload: Upload, signal: AbortSignal): Promise<void> {
    try {
      await costUpload(app, upload, signal);
    } catch (error) {
      if (signal.aborted) return;
      if (error instanceof Refusal) noteTrouble(upload.id, error.message);
      else app.log.warn('nobody knows what an upload will cost', { error });
    } finally {
      asked.delete(upload.id);
    }
  }

  function noteTrouble(id: string, words: string): void {
    troubles.set(id, words);
    const [oldest] = troubles.keys();
    if (troubles.size > 100 && oldest !== undefined) troubles.delete(oldest);
  }

  async function stop(id: string): Promise<void> {
    const asking = asked.get(id);
    asking?.end.abort();
    troubles.delete(id);
    await asking?.done;
  }

  return {
    async begin(upload) {
      if (asked.size >= ASKED_MAX || asked.has(upload.id)) return;
      const end = new AbortController();
      const done = ask(upload, end.signal);
      asked.set(upload.id, { end, done });
      const waited = new AbortController();
      await Promise.race([done, app.clock.sleep(WAIT_MS, waited.signal)]);
      waited.abort();
    },
    stateOf: (id) => ({ isAsking: asked.has(id), trouble: troubles.get(id) ?? null }),
    stop,
    async close() {
      await Promise.all([...asked.keys()].map(stop));
    },
  };
}
