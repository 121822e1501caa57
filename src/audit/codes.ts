import type { MacKeys } from '../ledger-key.ts';
import { type AuditRecord, entryText } from './entry.ts';

type CodeFault = 'forged' | 'no-code' | 'other-key';

const MESSAGES: Readonly<Record<CodeFault, (number: number) => string>> = {
  forged: (number) =>
    `entry ${number} carries a code that the ledger's key does not make: somebody without the key wrote it`,
  'no-code': (number) =>
    `entry ${number} carries no code, though entries have to from there on: its writer did not have the ledger's key`,
  'other-key': (number) =>
    `entry ${number} carries a code of a key that is not here: give the former keys as well (PAYRUN_LEDGER_KEY_FILE)`,
};

/**
 * Compares the codes of a log's entries, which are seen in their order. Entries before the first one with a code are from
 * before there was a key, unless `codedFrom` says otherwise. Without keys nothing is compared.
 */
export function openCodes(keys: MacKeys | undefined, codedFrom: number | null) {
  const first = new Map<CodeFault, number>();
  let from: number | null = null;
  let entries = 0;

  function faultOf(record: AuditRecord): CodeFault | undefined {
    const { code, number } = record;
    if (code === undefined) return from !== null || number >= (codedFrom ?? number + 1) ? 'no-code' : undefined;
    const check = keys?.check(entryText(record), code);
    from ??= number;
    if (check === 'holds') entries++;
    if (check === 'differs') return 'forged';
    return check === 'unknown-key' ? 'other-key' : undefined;
  }

  return {
    see(record: AuditRecord): void {
      const fault = keys === undefined ? undefined : faultOf(record);
      if (fault !== undefined && !first.has(fault)) first.set(fault, record.number);
    },
    findings: () => [...first].map(([code, number]) => ({ code, number, message: MESSAGES[code](number) })),
    coded: () => (from === null || entries === 0 ? null : { entries, from }),
  };
}
