import { hash } from 'node:crypto';
import { foldReference } from './references.ts';

/** First 8 bytes of the SHA-256 of the folded reference, as 16 hexadecimal digits: what is remembered of it. */
export function hashReference(reference: string): string {
  return hash('sha256', foldReference(reference), 'hex').slice(0, 16);
}
