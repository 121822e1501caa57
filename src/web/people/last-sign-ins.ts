import type { AuditLog } from '../../audit/audit-log.ts';
import { readEntry } from '../../audit/entry.ts';

const ACTION = 'user.signed-in';

/**
 * Reads when each user signed in last (milliseconds since 1970), from the audit log: all of it once, and from then on what is
 * new of it.
 */
export function openLastSignIns(audit: Pick<AuditLog, 'head' | 'lines'>): () => Promise<ReadonlyMap<string, number>> {
  const last = new Map<string, number>();
  let read = 0;
  let reading: Promise<void> | undefined;

  async function readOn(): Promise<void> {
    // A Redis that went back in time has a shorter log.
    if ((await audit.head()).number < read) read = 0;
    for await (const line of audit.lines(read + 1)) {
      read++;
      // Most entries are something else, and are not looked at more closely.
      const entry = line.includes(ACTION) ? readEntry(line) : undefined;
      if (entry?.action === ACTION) last.set(entry.actor, entry.at);
    }
  }

  return async () => {
    reading ??= readOn().finally(() => {
      reading = undefined;
    });
    await reading;
    return last;
  };
}
