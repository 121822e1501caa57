import { LIKELY_MS, REMEMBER_MS } from '../../duration.ts';
import type { LedgerState } from '../../ledger/season/ledger-state.ts';

interface Agreeing {
  readonly ledger: { readonly state: Pick<LedgerState, 'read'> };
  readonly config: { readonly rememberMs: number; readonly duplicatesWithinMs?: number | undefined };
}

/**
 * How far back a file is compared with earlier ones: as this process is set, and no less far than the ledger's safety settings say,
 * which may have changed since it began.
 */
export async function withAgreedRules<Deps extends Agreeing>(deps: Deps): Promise<Deps> {
  const { safety } = await deps.ledger.state.read();
  const agreed = (name: string, usual: number): number => {
    const said = safety.split(', ').find((part) => part.startsWith(`${name} `)) ?? '';
    const ms = / ([0-9]+) ms$/.exec(said)?.[1];
    return ms === undefined ? usual : Number.parseInt(ms, 10);
  };
  const { rememberMs, duplicatesWithinMs = 0 } = deps.config;
  const likelyMs = Math.max(duplicatesWithinMs, agreed('likely duplicates', LIKELY_MS));
  return {
    ...deps,
    config: {
      ...deps.config,
      rememberMs: Math.max(rememberMs, agreed('references', REMEMBER_MS)),
      duplicatesWithinMs: likelyMs === 0 ? undefined : likelyMs,
    },
  };
}
