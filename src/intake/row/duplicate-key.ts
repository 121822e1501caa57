import { hash } from 'node:crypto';
import type { PayoutRow } from '../../payout.ts';

/**
 * First 8 bytes, as 16 hexadecimal digits, of the SHA-256 of what a payout has in common with one that was handed in twice
 * under two references: beneficiary, amount and its currency. From which currency it is paid, or into
 * which, makes no difference.
 */
export function duplicateKey({ beneficiaryIdentityId, amount }: PayoutRow): string {
  const parts = [beneficiaryIdentityId, amount.minor.toString(), amount.currency];
  return hash('sha256', parts.join(' '), 'hex').slice(0, 16);
}
