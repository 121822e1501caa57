import { z } from 'zod';
import { type AuditVerdict, type KnownHead, parseHead, verifyAudit } from '../../audit/verify.ts';
import { runsForAudit } from '../../runs/safety/sealed-runs.ts';
import { Problem } from '../problem.ts';
import type { WebDeps } from '../web.ts';

/** A head as a report prints it; null for an empty text. */
export const headGiven = z
  .string()
  .trim()
  .max(100)
  .transform((text) => (text === '' ? null : parseHead(text)))
  .refine((head) => head !== undefined, 'must be NUMBER:HASH as a report prints it, or the hash alone');

/** Reads the whole log, for one person at a time. Throws a Problem (503) while it is read for somebody else. */
export function openVerifier({ app }: WebDeps): (head: KnownHead | null) => Promise<AuditVerdict> {
  let isBusy = false;
  return async (head) => {
    if (isBusy) throw new Problem(503, 'The log is being verified for somebody else.', 'Try again in a moment.');
    isBusy = true;
    try {
      return await verifyAudit(app.ledger.audit, { known: head, ...(await runsForAudit(app.ledger)) });
    } finally {
      isBusy = false;
    }
  };
}
