import type { App } from '../../app.ts';
import { CAPABILITIES, type Capability, SANDBOX_NAME } from '../../config/config.ts';
import type { HeadFacts } from '../../ledger/season/head-facts.ts';
import type { Season } from '../../ledger/season/ledger-state.ts';
import type { DurabilityFinding } from '../../redis/durability.ts';
import { Refusal } from '../../refusal.ts';
import { openSigningKey } from '../../report/signing/signing-key.ts';
import { CAPABILITY_USES } from '../../service/assumptions.ts';
import { readCapabilitiesRecord } from '../../service/capabilities-file.ts';
import { approvalFacts, calendarFacts, durationWords, type Fact, limitFacts } from './words.ts';

/** Settings that belong together. */
export interface Section {
  readonly title: string;
  readonly facts: readonly Fact[];
}

type SectionDeps = Pick<App, 'config' | 'serviceName' | 'capabilities' | 'overrides' | 'readDurability'>;

/** How payrun is set and what it stands on, in words. Nothing in it is a credential. */
export async function readSections(
  app: SectionDeps,
  { head, season }: { readonly head: HeadFacts; readonly season: Season },
): Promise<Section[]> {
  const { config } = app;
  return [
    { title: 'Payments service', facts: serviceFacts(app) },
    { title: 'What is known of the service', facts: await capabilityFacts(app, head) },
    { title: 'Redis', facts: await redisFacts(app) },
    { title: 'Season', facts: seasonFacts(season) },
    { title: 'Limits', facts: limitFacts(config.limits) },
    { title: 'Approval', facts: approvalFacts(config.approval) },
    { title: 'Banking days and cut-offs', facts: calendarFacts(config.calendars) },
    { title: 'Signed reports', facts: signingFacts(config) },
    { title: 'What is kept', facts: keptFacts(config) },
  ];
}

function serviceFacts({ config, serviceName }: SectionDeps): Fact[] {
  const { service } = config;
  if (service === undefined) {
    const name = serviceName === SANDBOX_NAME ? 'the sandbox: no money moves' : serviceName;
    return [['Service', name]];
  }
  return [
    ['Environment', service.environment === 'prod' ? 'prod: real money' : 'test'],
    ['Address', service.url],
    ['Tenant', service.tenantId],
    ['Audience of the token', service.audience],
    ['Forward proxy', service.proxy === undefined ? 'none' : new URL(service.proxy).host],
    ['Payment requests', rateWords(config)],
  ];
}

function rateWords({ ratePerSecond: top, ratePerSecondMin: floor = top }: App['config']): string {
  if (top === undefined) return 'as fast as the service takes them';
  return `${floor === top ? top : `${floor} to ${top}`} a second over all workers`;
}

async function capabilityFacts({ config, capabilities }: SectionDeps, { disproved }: HeadFacts): Promise<Fact[]> {
  const sources = await capabilitySources(config);
  return CAPABILITIES.map((name): Fact => {
    if (disproved.includes(name)) return [name, `was disproved by a payment. ${CAPABILITY_USES[name]}`];
    if (!capabilities.has(name)) return [name, `is not known. ${CAPABILITY_USES[name]}`];
    return [name, `holds: ${sources(name)}`];
  });
}

/** Where a capability is known from. */
async function capabilitySources({
  service,
  capabilitiesFile,
  assume,
}: App['config']): Promise<(name: Capability) => string> {
  if (service === undefined) return () => 'given, for the sandbox is a known service';
  const assumed = (name: Capability): string =>
    assume.includes(name) ? 'assumed by PAYRUN_ASSUME' : 'as this process was started';
  if (capabilitiesFile === undefined) return assumed;
  try {
    const { host, date, capabilities } = await readCapabilitiesRecord(capabilitiesFile, service);
    return (name) => {
      const found = capabilities[name];
      return found?.holds === true ? `found at ${host} on ${date.slice(0, 10)}: ${found.evidence}` : assumed(name);
    };
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    return (name) => `${assumed(name)}; now: ${error.message}`;
  }
}

async function redisFacts({ config, overrides, readDurability }: SectionDeps): Promise<Fact[]> {
  const findings = await readDurability();
  const accepted = config.redisDurability === 'overridden' ? 'accepted by PAYRUN_REDIS_DURABILITY' : 'not accepted';
  return [
    [
      'Durability',
      findings.length === 0 ? 'what it acknowledges lasts' : `it may lose what it acknowledged (${accepted})`,
    ],
    ...findings.map(findingFact),
    ['Overrides', overrides.length === 0 ? 'none' : overrides.join(', ')],
  ];
}

function findingFact({ setting, found, wanted, remedy }: DurabilityFinding): Fact {
  return [setting, `is ${found}, must be ${wanted}. ${remedy}`];
}

function seasonFacts({ open, missing, dataDirIds }: Season): Fact[] {
  return [
    ['Season', open ? 'open: payments may be sent' : 'closed: nothing is sent on this Redis yet'],
    ['Data directories', dataDirIds.length === 0 ? 'none has armed anything' : dataDirIds.join(', ')],
    [
      'Keep it closed',
      missing.length === 0 ? 'none' : `${missing.join(', ')}: start a worker on each, it compares its intent logs`,
    ],
  ];
}

function signingFacts({ signingKey }: App['config']): Fact[] {
  if (signingKey === undefined) return [['Public key', 'none: reports are not signed']];
  const { id, pem } = openSigningKey(signingKey);
  return [
    ['Public key', pem.trimEnd().split('\n').slice(1, -1).join('')],
    ['SHA-256 of the key', id],
  ];
}

function keptFacts({ retentionMs, rememberMs, duplicatesWithinMs, watchReturnsMs }: App['config']): Fact[] {
  return [
    ['Rows and reports of a run', retentionMs === undefined ? 'until somebody purges it' : durationWords(retentionMs)],
    ['References', durationWords(rememberMs)],
    [
      'Likely duplicates are held within',
      duplicatesWithinMs === undefined ? 'never' : durationWords(duplicatesWithinMs),
    ],
    ['Completed payments are looked at for returns', durationWords(watchReturnsMs)],
  ];
}
