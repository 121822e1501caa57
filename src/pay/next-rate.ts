/** Between what the shared rate moves, in payment requests a second. */
export interface RateBounds {
  readonly floor: number;
  readonly top: number;
}

/** The rate that all workers share. */
export interface Rate {
  readonly perSecond: number;
  /** The rate that the service refused last; null while it is not known. */
  readonly limit: number | null;
  /** The limit was met while the rate grew fast, so that it is not known well. */
  readonly isEstimate: boolean;
  /** When the rate was last cut, in milliseconds since 1970 of Redis's clock. */
  readonly cutAt: number;
}

/** Answers since the last step. */
export interface SeenAnswers {
  /** Payments that were made. */
  readonly well: number;
  /** Requests that met a 429 or a time-out. */
  readonly refused: number;
}

/** What is refused within this time of a cut was sent before it. */
const ONE_CUT_MS = 1000;
/** A limit that held for so long is not another one for one refusal: requests that were late went in a bunch. */
const HELD_MS = 30_000;
/** By so much the rate grows in a second's worth of payments while no limit is near. */
const GROWTH = 2;
/** While it grows so, the payments of a second are this share of the rate that holds when it is known that they were too many. */
const LAST_SECOND = 0.6;
/** Requests come in small bunches, so that a rate that is refused now and then is this much too high. */
const MET = 0.95;
/** One that was refused sooner is this much too high. */
const MET_AGAIN = 0.98;
/** Near a known limit, as a share of it, the rate climbs slowly. What is refused below, or past it, shows another limit. */
const NEAR = 0.97;
const PAST = 1.05;
/** By this much of itself a second's worth of payments takes the rate further there. Up to there, it doubles it. */
const PROBE = 0.0002;
/** The same towards a limit that is an estimate, until it is met. */
const ESTIMATE_PROBE = 0.02;

/** The rate before anything was seen. */
export function firstRate({ floor }: RateBounds): Rate {
  return { perSecond: floor, limit: null, isEstimate: false, cutAt: 0 };
}

/**
 * The next rate (additive increase, multiplicative decrease). What is refused halves it, once for all that was sent before the cut.
 * Payments that are made let it climb, by each second's worth of them: so a rate that nobody makes use of hardly grows.
 */
export function nextRate(rate: Rate, seen: SeenAnswers, { now, bounds }: { now: number; bounds: RateBounds }): Rate {
  const within = (perSecond: number): number => Math.min(bounds.top, Math.max(bounds.floor, perSecond));
  const perSecond = within(rate.perSecond);
  if (seen.refused > 0) return cut({ ...rate, perSecond }, { now, within });
  // One step never doubles it, however many answers came.
  const seconds = Math.min(1, seen.well / perSecond);
  const isPast = rate.limit !== null && !rate.isEstimate && perSecond > rate.limit * PAST;
  const next = isPast ? { ...rate, limit: null } : rate;
  return { ...next, perSecond: within(climb({ ...next, perSecond }, seconds)) };
}

function cut(rate: Rate, { now, within }: { now: number; within: (perSecond: number) => number }): Rate {
  const { perSecond, limit } = rate;
  const sinceCut = now - rate.cutAt;
  // A clock that stepped back has left no cut behind.
  if (sinceCut >= 0 && sinceCut < ONE_CUT_MS) return rate;
  const halved = { ...rate, perSecond: within(perSecond / 2), cutAt: now };
  if (limit === null) return { ...halved, limit: perSecond * LAST_SECOND, isEstimate: true };
  return { ...halved, limit: metLimit(perSecond, { ...rate, limit, sinceCut }), isEstimate: false };
}

function metLimit(
  perSecond: number,
  { limit, isEstimate, sinceCut }: { limit: number; isEstimate: boolean; sinceCut: number },
): number {
  const isAnother = isEstimate || perSecond < limit * NEAR || perSecond > limit * PAST;
  if (isAnother) return perSecond * MET;
  return sinceCut >= HELD_MS ? limit : limit * MET_AGAIN;
}

function climb({ perSecond, limit, isEstimate }: Rate, seconds: number): number {
  if (limit === null) return perSecond * GROWTH ** seconds;
  const near = limit * NEAR;
  if (perSecond < near) return Math.min(near, perSecond * GROWTH ** seconds);
  return perSecond * (1 + (isEstimate ? ESTIMATE_PROBE : PROBE) * seconds);
}
