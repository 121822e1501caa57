import { type KnownService, NOT_FOUND_CODE } from '../../capabilities.ts';
import { CAPABILITIES, type Capability, type Config } from '../../config/config.ts';
import { LIKELY_MS, REMEMBER_MS } from '../../duration.ts';
import type { HeadFacts } from '../season/head-facts.ts';

/** What the safety rule depends on, as the ledger keeps it: entries with a comma and a blank between them. */
export function safetyOf(
  config: Config,
  { capabilities, notFoundCodes }: KnownService,
  overrides: readonly string[],
): string {
  const codes = [...notFoundCodes].toSorted().join('+');
  return [
    `arm deadline ${config.armDeadlineMs} ms`,
    `quote grace ${config.quoteGraceMs} ms`,
    `not-found gap ${config.notFoundGapMs} ms`,
    ...(codes === NOT_FOUND_CODE ? [] : [`not-found codes ${codes || 'none'}`]),
    `capabilities ${[...capabilities].toSorted().join('+') || 'none'}`,
    `overrides ${[...overrides].toSorted().join('+') || 'none'}`,
    ...(config.limits === null ? [] : [`limits ${config.limits.name}`]),
    ...(config.approval === null ? [] : [`approval ${config.approval.name}`]),
    ...(config.rememberMs === REMEMBER_MS ? [] : [`references ${config.rememberMs} ms`]),
    ...(config.duplicatesWithinMs === LIKELY_MS ? [] : [`likely duplicates ${config.duplicatesWithinMs ?? 0} ms`]),
  ].join(', ');
}

/** Which capabilities hold for a ledger: those that it was opened with, less those that were seen not to hold. */
export function capabilitiesThatHold(head: Pick<HeadFacts, 'safety' | 'disproved'>): Record<Capability, boolean> {
  const text = /(?:^|, )capabilities ([^,]*)/.exec(head.safety)?.[1] ?? '';
  const held = new Set(text.split('+').filter((name) => !head.disproved.includes(name)));
  const [id, expired, once, visible] = CAPABILITIES;
  return {
    [id]: held.has(id),
    [expired]: held.has(expired),
    [once]: held.has(once),
    [visible]: held.has(visible),
  };
}
