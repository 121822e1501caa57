import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { type KnownService, NOT_FOUND_CODE } from '../capabilities.ts';
import { CAPABILITIES, type Config, type ServiceSettings } from '../config/config.ts';
import { writeAtomically } from '../files.ts';
import { codeOf, Refusal } from '../refusal.ts';

const schema = z.object({
  host: z.string(),
  environment: z.string(),
  tenant: z.string(),
  date: z.iso.datetime(),
  /** Error codes that the service uses for a payment that it does not know; absent in files of an earlier payrun. */
  notFoundCodes: z.array(z.string().min(1).max(64)).max(20).optional(),
  capabilities: z.partialRecord(z.enum(CAPABILITIES), z.object({ holds: z.boolean(), evidence: z.string() })),
});

/** What a probe found out about a service, as its file has it. */
export type CapabilitiesRecord = z.infer<typeof schema>;

/** Where a process was told what it knows of its service. */
type KnowsService = Pick<Config, 'capabilitiesFile' | 'assume'> & {
  readonly service: Pick<ServiceSettings, 'tenantId'> | undefined;
};

/**
 * What is known of the service that a process is set to: all capabilities for the sandbox that payrun starts itself. What was
 * found not to hold is not taken as given. Throws a Refusal for a file that cannot be read, has another form, or
 * speaks of another tenant.
 */
export async function readKnownService({ service, capabilitiesFile, assume }: KnowsService): Promise<KnownService> {
  const notFoundCodes = new Set([NOT_FOUND_CODE]);
  if (service === undefined) return { capabilities: new Set(CAPABILITIES), notFoundCodes };
  if (capabilitiesFile === undefined) return { capabilities: new Set(assume), notFoundCodes };
  const record = await readCapabilitiesRecord(capabilitiesFile, service);
  const holds = CAPABILITIES.filter((name) => record.capabilities[name]?.holds ?? assume.includes(name));
  return { capabilities: new Set(holds), notFoundCodes: new Set(record.notFoundCodes ?? notFoundCodes) };
}

/** The whole file; throws as `readKnownService` does. */
export async function readCapabilitiesRecord(
  path: string,
  service: Pick<ServiceSettings, 'tenantId'>,
): Promise<CapabilitiesRecord> {
  const parsed = schema.safeParse(await readJson(path));
  if (!parsed.success) throw refuse(path, 'has another form', parsed.error);
  if (parsed.data.tenant !== service.tenantId) throw refuse(path, 'speaks of another tenant');
  return parsed.data;
}

/**
 * Writes the file for `readKnownService`: whole and synced under its name, or not at all. What was there is replaced.
 * Everybody
 * may read it: it holds no secret. Throws what the file system says.
 */
export async function writeCapabilitiesFile(path: string, record: CapabilitiesRecord): Promise<void> {
  await writeAtomically(path, [`${JSON.stringify(record, null, 2)}\n`], { mode: 0o666 });
}

async function readJson(path: string): Promise<unknown> {
  try {
    const json: unknown = JSON.parse(await readFile(path, 'utf8'));
    return json;
  } catch (cause) {
    throw refuse(path, `cannot be read (${codeOf(cause) ?? 'no JSON'})`, cause);
  }
}

function refuse(path: string, what: string, cause?: unknown): Refusal {
  return new Refusal(
    `PAYRUN_CAPABILITIES_FILE: ${path} ${what}.`,
    'Give the file that was made for this tenant, or leave the setting out: then nothing is proven dead.',
    { cause },
  );
}
