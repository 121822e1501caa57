import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { CAPABILITIES, type Capability, type ServiceSettings } from '../config.ts';
import { codeOf, EXIT, Refusal } from '../refusal.ts';

const schema = z.object({
  host: z.string(),
  environment: z.string(),
  tenant: z.string(),
  date: z.iso.datetime(),
  capabilities: z.partialRecord(z.enum(CAPABILITIES), z.object({ holds: z.boolean(), evidence: z.string() })),
});

/**
 * The capabilities that a file says hold for the tenant's service (design 8). Throws a Refusal (exit 2) for a file that
 * cannot be read, has another form, or speaks of another tenant.
 */
export async function readCapabilitiesFile(
  path: string,
  service: Pick<ServiceSettings, 'tenantId'>,
): Promise<Capability[]> {
  const parsed = schema.safeParse(await readJson(path));
  if (!parsed.success) throw refuse(path, 'has another form', parsed.error);
  const { tenant, capabilities } = parsed.data;
  if (tenant !== service.tenantId) throw refuse(path, 'speaks of another tenant');
  return CAPABILITIES.filter((name) => capabilities[name]?.holds === true);
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
  return new Refusal(`PAYRUN_CAPABILITIES_FILE: ${path} ${what}.`, {
    exitCode: EXIT.usage,
    remedy: 'Give the file that was made for this tenant, or leave the setting out: then nothing is proven dead.',
    cause,
  });
}
