import type { Clock, Random } from '../../clock.ts';
import type { Config, ServiceSettings } from '../../config/config.ts';
import { type Log, silentLog } from '../../log.ts';
import type { PayoutRow } from '../../payout.ts';
import { Refusal } from '../../refusal.ts';
import type { Brake } from '../brake.ts';
import { openService, type Service } from '../client.ts';
import { type IdentityReply, parseIdentities } from '../replies.ts';
import type { TokenStore } from '../token.ts';
import { openSeal } from '../token-seal.ts';
import { describeAnswer, openAsker } from './asker.ts';
import { type FoundCapabilities, judgeCapabilities } from './capabilities.ts';
import { AT_ONCE, BURST, CUT_AFTER_MS, gatherEvidence, LATE_MS } from './experiments.ts';
import { answerQuestions, type Finding } from './questions.ts';
import { notFoundCodesOf, paymentsOf, trialsOf } from './seen.ts';

/** A payment counts as visible in time if it is found within this share of the grace after its quote's end. */
const VISIBLE_SHARE = 10;
const VISIBLE_MS_MAX = 60 * 1000;

export interface ProbeOptions {
  readonly settings: ServiceSettings;
  readonly config: Pick<
    Config,
    'tokenMarginMs' | 'requestTimeoutMs' | 'quoteGraceMs' | 'notFoundGapMs' | 'payoutCategory' | 'payinCategory'
  >;
  readonly clock: Clock;
  readonly random: Random;
  readonly log?: Log;
  readonly userAgent: string;
  /** What is paid: 1 of a currency. Its beneficiary is the first of the service's list where none is given. */
  readonly row: Omit<PayoutRow, 'beneficiaryIdentityId'> & { readonly beneficiaryIdentityId: string | null };
  readonly otherBeneficiary: string | null;
  readonly failingBeneficiary: string | null;
  readonly waitMs: number;
  /** Told, before the first payment, what is about to be paid to whom. */
  readonly announce: (plan: Plan) => void;
}

export interface Plan {
  readonly beneficiaryIdentityId: string;
  /** Payments that a service makes that keeps its promises. */
  readonly payments: number;
  /** Payment requests, those repeated because of a 429 left out. */
  readonly paymentRequests: number;
}

export interface ProbeResult {
  readonly findings: readonly Finding[];
  readonly capabilities: FoundCapabilities;
  /** The codes in which it says that it does not know a payment; empty when it never said so. */
  readonly notFoundCodes: readonly string[];
  /** Requests sent, those for tokens left out, and different payments seen. */
  readonly requests: number;
  readonly payments: number;
}

/**
 * Asks the service's test environment the questions P1 to P12 over HTTP, with payments of amount 1. Throws a
 * Refusal for `prod` and where there is no beneficiary; TokenRefused and TokenUnavailable at the start.
 */
export async function probe(options: ProbeOptions): Promise<ProbeResult> {
  requireTest(options.settings);
  const { settings, config, clock, random, row, userAgent, log = silentLog } = options;
  const brake = openBrake(clock);
  const shared = openMemory();
  const open = (changes: { requestTimeoutMs?: number; tokenStore?: TokenStore } = {}): Service =>
    openService({
      settings,
      clock,
      random,
      log,
      userAgent,
      tokenStore: shared,
      tokenMarginMs: config.tokenMarginMs,
      requestTimeoutMs: config.requestTimeoutMs,
      brake,
      concurrency: Math.max(AT_ONCE, BURST),
      ...changes,
    });
  const service = open();
  try {
    await service.ready();
    const { beneficiary, other } = await chooseBeneficiaries(service, options);
    announce(options, beneficiary);
    const asker = openAsker({
      service,
      brake,
      clock,
      row: { ...row, beneficiaryIdentityId: beneficiary },
      defaults: config,
      waitMs: options.waitMs,
    });
    const visibleMsMax = Math.min(config.quoteGraceMs / VISIBLE_SHARE, VISIBLE_MS_MAX);
    const evidence = await gatherEvidence({
      asker,
      service,
      cutting: (requestTimeoutMs) => open({ requestTimeoutMs }),
      bearing: (token) => open({ tokenStore: holding(token, settings, options) }),
      clock,
      visibleMsMax,
      notFoundGapMs: config.notFoundGapMs,
      otherBeneficiary: other,
      failingBeneficiary: options.failingBeneficiary,
    });
    const findings = answerQuestions(evidence, { visibleMsMax });
    const ids = trialsOf(evidence).flatMap((trial) => paymentsOf(trial).map(({ paymentId }) => paymentId));
    return {
      findings,
      capabilities: judgeCapabilities(evidence, findings),
      notFoundCodes: notFoundCodesOf(evidence),
      requests: asker.requests(),
      payments: new Set(ids).size,
    };
  } finally {
    await service.close();
  }
}

/** Refuses every address but that of a test environment: the questions are asked by paying. */
function requireTest({ environment, audience }: ServiceSettings): void {
  if (environment === 'test' && !/-prod(:|$)/i.test(audience)) return;
  throw new Refusal(
    'A probe makes payments, some of them twice, so it never uses prod.',
    'Run it with the settings of the test environment, then give production its capabilities.json by PAYRUN_CAPABILITIES_FILE.',
  );
}

async function chooseBeneficiaries(
  service: Service,
  { row, otherBeneficiary, failingBeneficiary }: ProbeOptions,
): Promise<{ beneficiary: string; other: string | null }> {
  const answer = await service.listIdentities('BENEFICIARY');
  const listed: readonly IdentityReply[] = (answer.kind === 'answered' && parseIdentities(answer.json)) || [];
  const ids = listed.map(({ identityId }) => identityId).filter((id) => id !== failingBeneficiary);
  const beneficiary = row.beneficiaryIdentityId ?? ids[0];
  if (beneficiary === undefined) {
    throw new Refusal(
      `The service lists no beneficiary (${describeAnswer(answer)}).`,
      'Register one in the test environment, or name one with --beneficiary ID.',
    );
  }
  return { beneficiary, other: otherBeneficiary ?? ids.find((id) => id !== beneficiary) ?? null };
}

function announce(options: ProbeOptions, beneficiaryIdentityId: string): void {
  const isFailing = options.failingBeneficiary !== null;
  // Twice, at once, two under one reference, and those that are cut off; the others shall be refused.
  const payments = 1 + 1 + 2 + CUT_AFTER_MS.length + (isFailing ? 1 : 0);
  // Of one quote: first, again, for another beneficiary, after its end; late ones are tried three times; two bad tokens.
  const paymentRequests = 4 + AT_ONCE + 2 + CUT_AFTER_MS.length + 3 * LATE_MS.length + 2 + (isFailing ? 3 : 0);
  options.announce({ beneficiaryIdentityId, payments, paymentRequests });
}

function openBrake(clock: Clock): Brake {
  let heldUntil = Number.NEGATIVE_INFINITY;
  return {
    remainingMs: () => Math.max(0, heldUntil - clock.monotonic()),
    hold(ms) {
      heldUntil = Math.max(heldUntil, clock.monotonic() + ms);
    },
  };
}

/** One token for all clients of the probe, in this process's memory. */
function openMemory(sealed: Uint8Array | null = null): TokenStore {
  let held = sealed;
  return {
    read: async () => held,
    async write(written) {
      held = written;
    },
    lock: async () => true,
    async unlock() {},
  };
}

/** A store in which a token lies that the service never gave. */
function holding(token: string, settings: ServiceSettings, { clock, random }: ProbeOptions): TokenStore {
  const endsAt = clock.now() + 60 * 60 * 1000;
  return openMemory(openSeal(settings, random).seal({ token, freshUntil: endsAt, endsAt }));
}
