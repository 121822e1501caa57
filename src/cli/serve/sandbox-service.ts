import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Clock, Random } from '../../clock.ts';
import { checkPayoutFile } from '../../intake/check-file.ts';
import { previewPayoutFile } from '../../intake/read-file.ts';
import { samplesFolder } from '../../intake/template/shipped.ts';
import type { ServiceChoice } from '../../open-pay.ts';
import { codeOf } from '../../refusal.ts';
import type { NewIdentity } from '../../sandbox/identities.ts';
import { noteRunningSandbox } from '../../sandbox/running.ts';
import { type Sandbox, startSandbox } from '../../sandbox/sandbox.ts';

/** Where the sandbox of a data directory keeps what it knows. */
export const SANDBOX_FOLDER = 'sandbox';

const schema = z.object({ clientId: z.string(), clientSecret: z.string() });
type Credential = z.infer<typeof schema>;

/** The sandbox that a command starts for itself, as a service to pay through. */
export interface OwnSandbox {
  readonly service: ServiceChoice;
  readonly sandbox: Sandbox;
}

/**
 * Starts the sandbox of a data directory, with the credential that it was given at first: payouts that are unknown after
 * a crash are looked up under the same one. Undefined while another process runs it.
 */
export async function startOwnSandbox(
  dataDir: string,
  deps: { clock: Clock; random: Random },
): Promise<OwnSandbox | undefined> {
  const sandbox = await startUnlessTaken(dataDir, deps);
  if (sandbox === undefined) return undefined;
  try {
    const credential = await ownCredential(dataDir, sandbox);
    const { tenantId } = sandbox;
    const settings = { ...credential, url: sandbox.url('test'), tenantId, environment: 'test' } as const;
    const running = { ...settings, audience: `urn:servicexcurrent-test:${tenantId}` };
    await noteRunningSandbox(dataDir, running);
    return { sandbox, service: { settings: running, isSandbox: true } };
  } catch (error) {
    await sandbox.close();
    throw error;
  }
}

async function startUnlessTaken(dataDir: string, deps: { clock: Clock; random: Random }): Promise<Sandbox | undefined> {
  try {
    return await startSandbox({
      folder: join(dataDir, SANDBOX_FOLDER),
      switches: { acceptsAnyIdentity: true },
      ...deps,
    });
  } catch (error) {
    if (error instanceof Error && codeOf(error.cause) === 'EADDRINUSE') return undefined;
    throw error;
  }
}

async function ownCredential(dataDir: string, sandbox: Sandbox): Promise<Credential> {
  const file = join(dataDir, 'sandbox-credential.json');
  try {
    return schema.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error;
  }
  await sandbox.registerIdentities('test', await sampleIdentities());
  const credential = await sandbox.createCredential('payrun run', 'test');
  await writeFile(file, `${JSON.stringify(credential)}\n`, { mode: 0o600 });
  return credential;
}

/** Whom the sample files pay, so that the book of a new sandbox knows them by name; none where the samples were taken away. */
async function sampleIdentities(): Promise<readonly NewIdentity[]> {
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
