import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { checkPayoutFile } from '../../intake/check-file.ts';
import { previewPayoutFile } from '../../intake/read-file.ts';
import type { NewIdentity } from '../../sandbox/identities.ts';
import { samplesFolder } from '../run/named-template.ts';

/** Whom the sample files pay, so that the book of a new sandbox knows them by name; none where the samples were taken away. */
export async function sampleIdentities(): Promise<readonly NewIdentity[]> {
  const templates = await samplesFolder().catch(() => undefined);
  if (templates === undefined) return [];
  const folder = join(templates, '..');
  const identities = new Map<string, NewIdentity>();
  for (const name of (await readdir(folder)).filter((one) => one.endsWith('.csv'))) {
    const path = join(folder, name);
    for await (const rows of previewPayoutFile(path, await checkPayoutFile(path))) {
      for (const row of rows.filter((one) => 'reference' in one)) {
        note(row.beneficiaryIdentityId, 'BENEFICIARY');
        note(row.originatorIdentityId, 'ORIGINATOR');
      }
    }
  }
  return [...identities.values()];

  function note(identityId: string | null, identityType: NewIdentity['identityType']): void {
    if (identityId === null || identities.has(identityId)) return;
    identities.set(identityId, { identityId, identityType, useCaseType: 'BUSINESS' });
  }
}
