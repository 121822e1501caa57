import { mayMove } from '../../moves.ts';
import { ARMINGS_PER_QUOTE_MAX, QUOTES_PER_PAYOUT_MAX } from '../../payout.ts';
import type { Arming, ArmingLimits, ArmRefusal } from './acts.ts';
import { type Change, countedOf, dueOf, numberOf, type Operation, setValues } from './decide-move.ts';
import { amountOf } from './record.ts';
import { COMMIT_COUNTER, COMMIT_TIME, type StoredPayout } from './stored.ts';

const MS_PER_DAY = 86_400_000;

/**
 * What arming makes of a record: `ready` to `armed` with a new quote, `quoted` to `armed` with the same one (architecture.md, rule
 * 2). `now`: Redis's time.
 */
export function decideArming(record: StoredPayout | undefined, arming: Arming, now: number): Change {
  const refuse = (refusal: ArmRefusal | 'given-up', ...checks: readonly Operation[]): Change => {
    const after = record ?? { text: '', version: 0, state: 'armed', due: 0, history: [], values: new Map() };
    const { runId, line } = arming;
    return { runId, line, before: record, after, operations: [...checks, ['refuse', refusal]] };
  };
  if (record === undefined || record.state === 'refused' || record.version !== arming.version) return refuse('changed');
  if (!mayMove({ from: record.state, to: 'armed', sent: record.values.has('q') })) return refuse('changed');
  if (record.values.get('rh') !== arming.rowSeal) return refuse('row');
  if (record.values.has('gu')) return refuse('given-up');
  const checks = armingChecks(record, arming);
  if (record.state === 'quoted') {
    const { values } = record;
    const isOther = values.get('q') !== arming.quoteId || values.get('cf') !== arming.credentials;
    if (isOther) return refuse('changed', ...checks);
    if (numberOf(record, 'ar') >= ARMINGS_PER_QUOTE_MAX) return refuse('armings', ...checks);
  } else if (numberOf(record, 'qn') >= QUOTES_PER_PAYOUT_MAX) {
    return refuse('quotes', ...checks);
  }
  return armed(record, arming, { checks, now });
}

function armingChecks(record: StoredPayout, { referenceHash, approval, blockList }: Arming): Operation[] {
  const checks: Operation[] = [['mine', referenceHash]];
  if (approval !== null && approval !== undefined) checks.push(['approval', approval]);
  if (blockList !== undefined) checks.push(['blocklist', blockList]);
  checks.push(['unblocked', record.values.get('ben') ?? '']);
  return checks;
}

function armed(
  record: StoredPayout,
  arming: Arming,
  { checks, now }: { checks: readonly Operation[]; now: number },
): Change {
  const isAgain = record.state === 'quoted';
  const limits = isAgain ? undefined : judgeLimits(record, arming.limits ?? null, now);
  const values = armedValues(record, arming, limits?.values);
  const { referenceHash, runId, line, dueMs } = arming;
  const operations: Operation[] = [...checks, ...(limits?.checks ?? [])];
  if (!isAgain) operations.push(['quote', arming.quoteId]);
  operations.push(...(limits?.effects ?? []), ['refnx', referenceHash], ['changes'], ['counter']);
  return {
    runId,
    line,
    before: record,
    after: { ...record, version: record.version + 1, state: 'armed', due: dueOf(dueMs), values },
    step: { to: 'armed', actor: arming.owner, reason: '', exchange: arming.exchange },
    dueMs,
    operations,
  };
}

function armedValues(
  record: StoredPayout,
  arming: Arming,
  counted: Readonly<Record<string, string>> | undefined,
): Map<string, string> {
  const isAgain = record.state === 'quoted';
  const values = new Map(record.values);
  // What earlier quotes left.
  if (!isAgain) for (const name of ['nf', 'z2', 'lu', 'qf', 'qs']) values.delete(name);
  const set = {
    ...counted,
    q: arming.quoteId,
    x: arming.quoteExpiresAt === null ? '' : String(arming.quoteExpiresAt),
    by: arming.owner,
    aa: COMMIT_TIME,
    ct: COMMIT_COUNTER,
    cf: arming.credentials,
    at: String(numberOf(record, 'at') + 1),
    ar: isAgain ? String(numberOf(record, 'ar') + 1) : '1',
    qn: String(numberOf(record, 'qn') + (isAgain ? 0 : 1)),
  };
  for (const [name, value] of Object.entries(set)) values.set(name, value);
  setValues(values, arming.values);
  values.delete('pr');
  return values;
}

interface Counting {
  readonly checks: readonly Operation[];
  readonly effects: readonly Operation[];
  readonly values: Readonly<Record<string, string>>;
}

/**
 * What the payout counts as from now on, unless a limit stands against it that people did not lift. What it counted as before, on
 * another day or by another quote, does not count any more.
 */
function judgeLimits(record: StoredPayout, limits: ArmingLimits | null, now: number): Counting | undefined {
  if (limits === null) return undefined;
  const day = String(Math.floor((now + limits.dayOffsetMs) / MS_PER_DAY));
  const own = amountOf(record.values);
  const sums = limits.sums.map((sum) => ({
    ...sum,
    minor: sum.currency === own?.currency ? BigInt(own.minor) : sum.minor,
  }));
  const list = sums.flatMap(({ currency, minor }) => (minor === null ? [] : [`${currency} ${minor}`])).join(',');
  const [formerDay, formerBeneficiary, formerList] = countedOf(record);
  if (formerDay === day && formerList === list) return undefined;
  const former = new Map(
    formerList.split(',').map((text) => [text.split(' ')[0] ?? '', BigInt(text.split(' ')[1] ?? '0')]),
  );
  const checks = sums.map(({ currency, minor, most }): Operation => {
    const mine = former.get(currency) ?? 0n;
    const ofDay = formerDay === day ? mine : 0n;
    const bounds = [most.payout, raised(most.run, mine), raised(most.day, ofDay), raised(most.beneficiary, ofDay)];
    const texts = bounds.map((bound) => bound?.toString() ?? '');
    return ['limit', day, limits.beneficiaryHash, currency, minor?.toString() ?? '', ...texts];
  });
  return {
    checks: record.values.has('al') ? [] : checks,
    effects: [
      ...(formerDay === '' ? [] : [['uncount', formerDay, formerBeneficiary, formerList] as const]),
      ['count', day, limits.beneficiaryHash, list],
    ],
    values: { ld: day, lb: limits.beneficiaryHash, lc: list },
  };
}

function raised(most: bigint | undefined, by: bigint): bigint | undefined {
  return most === undefined ? undefined : most + by;
}
