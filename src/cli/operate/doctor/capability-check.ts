import type { KnownService } from '../../../capabilities.ts';
import { CAPABILITIES, type Config, type Environment } from '../../../config/config.ts';
import { CAPABILITY_USES } from '../../../service/assumptions.ts';
import { readCapabilitiesRecord, readKnownService } from '../../../service/capabilities-file.ts';
import type { Found } from './check.ts';

/** The capabilities that this process takes for known, and for each source of them a line. */
export interface KnownCapabilities extends KnownService {
  readonly sources: readonly string[];
}

/** Reads the capabilities as paying would. Throws a Refusal for a file that cannot be used. */
export async function readCapabilities(config: Config): Promise<KnownCapabilities> {
  const { service, capabilitiesFile, assume } = config;
  const known = await readKnownService(config);
  if (service === undefined) return { ...known, sources: ['given: the sandbox is a known service'] };
  const assumed = assume.length === 0 ? [] : [`assumed by PAYRUN_ASSUME: ${assume.join(', ')}`];
  if (capabilitiesFile === undefined) return { ...known, sources: assumed };
  const { host, environment, date, capabilities } = await readCapabilitiesRecord(capabilitiesFile, service);
  const holding = CAPABILITIES.filter((name) => capabilities[name]?.holds === true).join(', ') || 'none';
  return {
    ...known,
    sources: [...assumed, `found ${date} at ${host}, ${environment} (${capabilitiesFile}): ${holding}`],
  };
}

const UNKNOWN_REMEDY =
  'A payout whose answer was lost will wait for people. Find them out in test ("payrun probe") and name its file ' +
  '(PAYRUN_CAPABILITIES_FILE), or in test take them as given (PAYRUN_ASSUME).';

/** Which capabilities of the service are lacking, what that means, and where the others are known from. */
export function describeCapabilities(
  { capabilities, sources }: KnownCapabilities,
  { disproved, environment }: { disproved: readonly string[]; environment: Environment | undefined },
): Found {
  const lacking = CAPABILITIES.filter((name) => !capabilities.has(name) || disproved.includes(name));
  if (lacking.length === 0) return { found: ['all are known to hold', ...sources].join('\n') };
  const lines = lacking.map(
    (name) => `${name} ${disproved.includes(name) ? 'was disproved' : 'is not known'}. ${CAPABILITY_USES[name]}`,
  );
  const found = [...lines, ...sources].join('\n');
  // In test it is how everybody begins.
  const isWarning = environment === 'test' && disproved.length === 0;
  return isWarning ? { found, advice: UNKNOWN_REMEDY } : { found, remedy: UNKNOWN_REMEDY };
}
