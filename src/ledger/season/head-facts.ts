import { integerOf } from '../script.ts';

/** A time in which Redis was less durable than it has to be, and which of its settings were; `to` null: still. */
export interface WeakTime {
  readonly from: number;
  readonly to: number | null;
  readonly settings: readonly string[];
}

export interface HeadFacts {
  readonly instance: string;
  /** Of the ledger that was lost and in whose place people adopted this one; '' for none. */
  readonly formerInstance: string;
  readonly service: string;
  readonly safety: string;
  readonly halt: string | null;
  readonly releaseBy: string | null;
  /** Seal of that proposal; '' for none. */
  readonly releaseSeal: string;
  /** Safety settings that somebody proposes, and the seal of it; null for none. */
  readonly proposedSafety: { readonly safety: string; readonly by: string; readonly seal: string } | null;
  readonly writeOffs: readonly SaidOnWriteOff[];
  readonly armings: number;
  readonly refusedMoves: number;
  readonly disproved: readonly string[];
  /** When the clock of Redis was last seen to step back, by itself, and by how much; null: never. */
  readonly clockStep: { readonly at: number; readonly ms: number } | null;
}

/** The head as Redis keeps it. */
export function headFactsOf(fields: Record<string, string>): HeadFacts {
  return {
    instance: fields['instance'] ?? '',
    formerInstance: fields['adopted'] ?? '',
    service: fields['service'] ?? '',
    safety: fields['safety'] ?? '',
    halt: fields['halt'] ?? null,
    releaseBy: fields['releaseBy'] ?? null,
    releaseSeal: fields['releaseSeal'] ?? '',
    proposedSafety: proposedSafetyOf(fields),
    writeOffs: saidOnWriteOffs(fields),
    armings: integerOf(fields['armings'] ?? '0'),
    refusedMoves: integerOf(fields['refusedMoves'] ?? '0'),
    disproved: (fields['disproved'] ?? '').split(',').filter(Boolean),
    clockStep: clockStepOf(fields),
  };
}

/** A line of the weak times, or the one that is not over. */
export function weakTimeOf(text: string): WeakTime {
  const [to = '', from = '', ...settings] = text.split(' ');
  return { to: to === '' ? null : integerOf(to), from: integerOf(from), settings };
}

function proposedSafetyOf({
  safetyNew,
  safetyBy,
  safetySeal = '',
}: Record<string, string>): HeadFacts['proposedSafety'] {
  return safetyNew === undefined || safetyBy === undefined
    ? null
    : { safety: safetyNew, by: safetyBy, seal: safetySeal };
}

const WRITE_OFF_FIELD = 'writeOff:';

/** What people said of writing a data directory off, as it is kept. It holds for one server, and nobody looked at the seals. */
export interface SaidOnWriteOff {
  readonly dataDirId: string;
  readonly said: string;
  readonly server: string;
  readonly by: string;
  /** Who agreed; '' for nobody yet. */
  readonly agreed: string;
  readonly seal: string;
  readonly agreedSeal: string;
}

export function saidOnWriteOffs(fields: Readonly<Record<string, string>>): SaidOnWriteOff[] {
  return Object.entries(fields).flatMap(([field, said]) => {
    if (!field.startsWith(WRITE_OFF_FIELD)) return [];
    const [server = '', by = '', agreed = '', seal = '', agreedSeal = ''] = said.split('\u001f');
    return [{ dataDirId: field.slice(WRITE_OFF_FIELD.length), said, server, by, agreed, seal, agreedSeal }];
  });
}

function clockStepOf({ clockSteppedAt, clockSteppedMs }: Record<string, string>): HeadFacts['clockStep'] {
  if (clockSteppedAt === undefined || clockSteppedMs === undefined) return null;
  return { at: integerOf(clockSteppedAt), ms: integerOf(clockSteppedMs) };
}
