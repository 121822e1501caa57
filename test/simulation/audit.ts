import type { AuditLog } from '../../src/audit/audit-log.ts';
import { type AuditAct, type AuditRecord, recordsAct, type WaitingAct } from '../../src/audit/entry.ts';
import { byTime } from '../../src/audit/missed.ts';
import type { Clock } from '../../src/clock.ts';
import type { FakeDisk } from './disk.ts';
import { latencyMs } from './plan.ts';
import type { Setting } from './setting.ts';
import type { Store } from './store.ts';

interface AuditParts {
  readonly dataDirId: string;
  readonly disk: FakeDisk;
  readonly clock: Clock;
  readonly ask: <T>(label: string, run: (store: Store, now: number) => T) => Promise<T>;
}

/** The steps of `openAuditLog` in src/audit/audit-log.ts, whose copies are real files, over a fake disk. */
export function openAudit(
  { world, plan, redis, checks, mutation, isCalm }: Setting,
  { dataDirId, disk, clock, ask }: AuditParts,
): Pick<AuditLog, 'append' | 'waiting' | 'appendWaiting' | 'missing' | 'noteMissing' | 'copyOthers'> {
  async function copy(records: readonly AuditRecord[], server: string): Promise<void> {
    await clock.sleep(latencyMs(world.dice, plan, isCalm()));
    for (const record of records) {
      disk.audit.set(record.hash, record);
      // A copy that comes after the directory was compared with another server is asked for at the next change only.
      if (redis.store().server === server) checks.copied(record, { dataDirId, server });
    }
  }

  async function write(act: AuditAct | undefined): Promise<AuditRecord | undefined> {
    const { record, ours, server } = await ask('audit', (store, now) => {
      const waiting = store.auditWaiting.map((text) => JSON.parse(text) as WaitingAct);
      store.auditWaiting = [];
      const acts = act === undefined ? waiting : [...waiting, { act, at: now, from: Number.POSITIVE_INFINITY }];
      const copies = [...disk.audit.values()];
      let last: AuditRecord | undefined;
      for (const [index, waited] of acts.entries()) {
        putBackLost(store, copies);
        if ([...store.audit, ...copies].some((known) => recordsAct(known, waited))) continue;
        last = appendEntry(store, {
          ...waited.act,
          at: waited.at,
          dataDir: dataDirId,
          hash: `entry ${world.steps()}-${index}`,
        });
      }
      return { record: last, ours: store.audit.filter(({ dataDir }) => dataDir === dataDirId), server: store.server };
    });
    if (record !== undefined) await copy(ours, server);
    return record;
  }

  return {
    append: async (act) => (await write(act)) as AuditRecord,
    waiting: async (act) => JSON.stringify({ act, at: redis.now(), from: redis.store().audit.length }),
    async appendWaiting() {
      await write(undefined);
    },
    async missing() {
      const ours = await ask('audit: what is missing', ({ audit, putBack, missed }) => {
        const known = new Set(audit.map(({ hash }) => hash));
        const gone = [...disk.audit.values()].filter(({ hash }) => !known.has(hash));
        const back = audit.filter(({ hash }) => putBack.has(hash));
        return byTime([...back, ...gone].filter(({ hash }) => !missed.has(hash)));
      });
      if (ours.length > 0) world.count('decisions missing');
      world.say(
        () => `  missing: ${ours.map(({ number, action, target }) => `${number} ${action} ${target}`).join(', ')}`,
      );
      return { ours: mutation.missing?.(ours) ?? ours, former: [] };
    },
    noteMissing: (records, server) =>
      ask('audit: it was said', ({ missed, server: now }) => {
        if (now !== server) return;
        for (const { hash } of records) missed.add(hash);
      }),
    async copyOthers() {
      await write(undefined);
      const { others, server } = await ask('audit: lines', (store) => ({
        others: store.audit.filter(({ hash, dataDir }) => dataDir !== dataDirId && !disk.audit.has(hash)),
        server: store.server,
      }));
      if (others.length > 0) await copy(others, server);
    },
  };
}

/** What Redis lost and this directory's copies continue. */
function putBackLost(store: Store, copies: readonly AuditRecord[]): void {
  for (;;) {
    const previous = store.audit.at(-1)?.hash ?? '';
    const number = store.audit.length + 1;
    const lost = copies.findLast((one) => one.number === number && one.previous === previous);
    if (lost === undefined) return;
    store.audit = [...store.audit, lost];
    store.putBack.add(lost.hash);
  }
}

function appendEntry(store: Store, act: AuditAct & Pick<AuditRecord, 'at' | 'dataDir' | 'hash'>): AuditRecord {
  const record = { ...act, number: store.audit.length + 1, previous: store.audit.at(-1)?.hash ?? '' };
  store.audit = [...store.audit, record];
  return record;
}
