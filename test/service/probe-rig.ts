import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock, systemRandom } from '../../src/clock.ts';
import type { Capability, ServiceSettings } from '../../src/config/config.ts';
import type { SwitchSettings } from '../../src/sandbox/faults/switches.ts';
import { type Sandbox, startSandbox } from '../../src/sandbox/sandbox.ts';
import type { Plan, ProbeOptions, ProbeResult } from '../../src/service/probe/probe.ts';
import { probe } from '../../src/service/probe/probe.ts';
import type { Finding, Question } from '../../src/service/probe/questions.ts';
import { ROW } from '../support/payout-row.ts';

const BENEFICIARY = '00000001-0000-4000-8000-000000000000';
export const OTHER_BENEFICIARY = '00000002-0000-4000-8000-000000000000';

/** Quotes end soon; answers take long enough that a connection can be cut before them. */
const QUICK: SwitchSettings = { quoteLifeMs: 1500, completesAfterMs: 100, answerDelayMs: { payments: 60 } };

export interface Probed extends ProbeResult {
  readonly plan: Plan;
  readonly verdicts: Readonly<Record<Question, Finding['verdict']>>;
  readonly lacking: readonly Capability[];
  /** Of the sandbox, requests for tokens left out. */
  readonly requestsSeen: number;
  readonly paymentRequestsSeen: number;
  readonly book: number;
  finding(question: Question): Finding;
}

type Changes = Partial<ProbeOptions> & { readonly quoteGraceMs?: number };

/** Probes a sandbox with these switches, on a real socket. */
export async function probeSandbox(switches: SwitchSettings, changes: Changes = {}): Promise<Probed> {
  const folder = await mkdtemp(join(tmpdir(), 'payrun-probe-'));
  const answerDelayMs = { ...QUICK.answerDelayMs, ...switches.answerDelayMs };
  const sandbox = await startSandbox({
    folder,
    switches: { ...QUICK, ...switches, answerDelayMs },
    clock: systemClock,
    random: systemRandom,
  });
  try {
    return await probeOpen(sandbox, changes);
  } finally {
    await sandbox.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function probeOpen(sandbox: Sandbox, { quoteGraceMs, ...changes }: Changes): Promise<Probed> {
  const identities = [BENEFICIARY, OTHER_BENEFICIARY];
  await sandbox.registerIdentities(
    'test',
    identities.map((identityId) => ({ identityId, identityType: 'BENEFICIARY' })),
  );
  let plan: Plan | undefined;
  const options = quickOptions(await settingsOf(sandbox));
  const config = { ...options.config, ...(quoteGraceMs === undefined ? {} : { quoteGraceMs }) };
  const result = await probe({
    ...options,
    config,
    announce: (announced) => {
      plan = announced;
    },
    ...changes,
  });
  if (plan === undefined) throw new Error('nothing was announced');
  const { token: _, ...seen } = sandbox.counters();
  return {
    ...result,
    plan,
    verdicts: Object.fromEntries(
      result.findings.map(({ question, verdict }) => [question, verdict]),
    ) as Probed['verdicts'],
    lacking: (Object.keys(result.capabilities) as Capability[]).filter((name) => !result.capabilities[name].holds),
    requestsSeen: Object.values(seen).reduce((sum, count) => sum + count, 0),
    paymentRequestsSeen: seen.payments,
    book: sandbox.book('test').length,
    finding(question) {
      const found = result.findings.find((finding) => finding.question === question);
      if (found === undefined) throw new Error(`${question} was not answered`);
      return found;
    },
  };
}

async function settingsOf(sandbox: Sandbox): Promise<ServiceSettings> {
  const credential = await sandbox.createCredential('probe', 'test');
  const { tenantId } = sandbox;
  const audience = `urn:servicexcurrent-test:${tenantId}`;
  return { ...credential, url: sandbox.url('test'), tenantId, environment: 'test', audience };
}

export function quickOptions(settings: ServiceSettings): ProbeOptions {
  return {
    settings,
    config: {
      tokenMarginMs: 60_000,
      requestTimeoutMs: 5000,
      // A payment has to be found within a tenth of it.
      quoteGraceMs: 10_000,
      notFoundGapMs: 200,
      payoutCategory: 'BANK',
      payinCategory: 'PRE_FUNDING',
    },
    clock: systemClock,
    random: systemRandom,
    userAgent: 'payrun/test',
    row: { ...ROW, reference: 'probe-1', amount: { minor: 100n, currency: 'USD' }, beneficiaryIdentityId: null },
    otherBeneficiary: null,
    failingBeneficiary: null,
    waitMs: 60_000,
    announce: () => {},
  };
}
