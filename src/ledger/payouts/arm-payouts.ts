import type { Redis } from 'ioredis';
import { LIMITS } from '../../config/limits.ts';
import { LedgerFault, textOf } from '../script.ts';
import { SCHEMA_VERSION } from '../season/refuse-ledger.ts';
import { ARM_REFUSALS, type ArmAnswer, type Arming } from './acts.ts';
import { decideArming } from './decide-arming.ts';
import type { KnownRecords } from './known-records.ts';

const REPLICA_ACKNOWLEDGES_MS_MAX = 1000;

export interface ArmingPlace {
  /** A connection that never queues and never sends a command again. */
  readonly arming: Redis;
  readonly dataDirId: string;
  readonly lease: string;
  /** The process's safety settings, or '' where they are not compared. */
  readonly safety: string;
  /** The server to which all other commands lead, as it was seen last, or ''. */
  readonly server: () => string;
}

/** Arms payouts in one call (architecture.md, rule 2). An error means that nobody knows whether they are armed. */
export async function armPayouts(
  records: KnownRecords,
  { arming, server, ...own }: ArmingPlace,
  armings: readonly Arming[],
): Promise<ArmAnswer[]> {
  const unknown = armings.filter((one) => records.get(one)?.version !== one.version);
  if (unknown.length > 0) await records.read(unknown, arming);
  const changes = armings.map((one) => decideArming(records.get(one), one, records.lastNow()));
  const asked = server();
  const highestCounter = records.highestCounter();
  const header = { ...own, kind: 'arm', schema: SCHEMA_VERSION, highestCounter, server: asked } as const;
  const done = await records.write(changes, header, arming);
  // It asks anew who the primary is, unless that was learned meanwhile: others may be arming there.
  if (done.isElsewhere && asked === server()) arming.disconnect(true);
  else if (done.replicas > 0) {
    const acknowledged = await arming.wait(1, REPLICA_ACKNOWLEDGES_MS_MAX);
    if (acknowledged < 1) return armings.map(() => ({ armed: false, refusal: 'not-replicated' }));
  }
  return done.answers.map((answer, index) => {
    if (answer.text === undefined) return armRefusal(answer.words);
    records.sawCounter(answer.number);
    const version = changes[index]?.after.version ?? 0;
    return { armed: true, version, counter: answer.number, armedAt: done.at };
  });
}

/** Why an arming was not committed, by the words of the commit (scripts/commit.ts). */
export function armRefusal(words: readonly unknown[]): ArmAnswer {
  const [word, about, currency] = words;
  if (word === 'approval' || word === 'blocked' || word === 'given-up') return { armed: false, refusal: word };
  if (word === 'reference') return { armed: false, refusal: 'reference', holder: textOf(about) };
  if (word === 'limit') {
    const which = [...LIMITS, 'amount' as const].find((one) => one === about);
    if (which !== undefined) return { armed: false, refusal: 'limit', limit: { which, currency: textOf(currency) } };
  }
  const refusal = ARM_REFUSALS.find((one) => one === (word === 'again' ? 'changed' : word));
  if (refusal === undefined) throw new LedgerFault('the commit gave an unknown answer');
  return { armed: false, refusal };
}
