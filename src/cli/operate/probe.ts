import { resolve } from 'node:path';
import { z } from 'zod';
import { rfc3339, systemClock, systemRandom } from '../../clock.ts';
import { CAPABILITIES, type Config, readConfig, type ServiceSettings } from '../../config/config.ts';
import { durationFrom } from '../../duration.ts';
import { openLog } from '../../log.ts';
import { currencies, formatAmount, type Money, parseAmount } from '../../money.ts';
import { AMOUNT_TYPES, SOURCES_OF_CASH } from '../../payout.ts';
import { type CapabilitiesRecord, writeCapabilitiesFile } from '../../service/capabilities-file.ts';
import { type Plan, type ProbeOptions, type ProbeResult, probe } from '../../service/probe/probe.ts';
import { explainTokenFaults } from '../../service/token-refusal.ts';
import { VERSION } from '../../version.ts';
import { command, type GivenOptions } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { requireService } from '../open.ts';
import { print, printJson, safeText, say } from '../print.ts';

const identityId = z.guid('must be a UUID').toLowerCase();
const currency = z
  .string()
  .toUpperCase()
  .refine((code) => currencies().includes(code), { error: 'must be the code of a currency, for example USD' });
const country = z.string().regex(/^[A-Z]{2}$/, 'must be two capital letters');
const word = z.string().min(1, 'must not be empty').max(128);

const WHERE_WANTED = 'where the service wants it';
const options = {
  beneficiary: ['<id>', 'identity that is paid; the first that the service lists when left out', identityId.optional()],
  otherBeneficiary: ['<id>', 'a second one, to see what the same quote does for it', identityId.optional()],
  failingBeneficiary: ['<id>', 'one whose payments fail, to see what happens after a failure', identityId.optional()],
  originator: ['<id>', 'identity on whose behalf is paid (third-party payment)', identityId.optional()],
  sourceCurrency: ['<code>', 'currency that is paid from', currency, 'USD'],
  destinationCurrency: ['<code>', 'currency that is paid out', currency, 'MXN'],
  amountType: [
    '<type>',
    `which of the two has the amount 1: ${AMOUNT_TYPES.join(' or ')}`,
    z.enum(AMOUNT_TYPES),
    'SOURCE_AMOUNT',
  ],
  sourceCountry: ['<code>', WHERE_WANTED, country.optional()],
  destinationCountry: ['<code>', WHERE_WANTED, country.optional()],
  payoutCategory: ['<word>', 'instead of PAYRUN_PAYOUT_CATEGORY', word.optional()],
  payinCategory: ['<word>', 'instead of PAYRUN_PAYIN_CATEGORY', word.optional()],
  purposeCode: ['<code>', WHERE_WANTED, word.optional()],
  sourceOfCash: ['<code>', WHERE_WANTED, z.enum(SOURCES_OF_CASH).optional()],
  output: ['<file>', 'where the findings are written', z.string().min(1, 'must not be empty'), 'capabilities.json'],
  wait: [
    '<duration>',
    'all of it ends within this; at least as long as a quote lives',
    durationFrom('1s', '1d'),
    '15m',
  ],
  json: 'print the findings as JSON',
} as const;
type Options = GivenOptions<typeof options>;

/** `payrun probe`: finds out in the test environment which capabilities the service has. */
export const probeCommand = command(
  'probe',
  {
    options,
    help:
      'It needs the five service settings, for the test environment, and no Redis. It refuses prod.' +
      '\nIt exits 0 when all four capabilities hold, 5 when one does not or is not known.',
    examples: [
      'payrun probe',
      'payrun probe --beneficiary 11111111-1111-4111-8111-111111111111 --source-currency EUR --destination-currency USD',
    ],
  },
  async (given) => await probeService(readConfig(), given),
);

async function probeService(config: Config, given: Options): Promise<ExitCode> {
  requireService(config, {});
  const { service: settings } = config;
  if (settings === undefined) return EXIT.usage;
  const amount = amountOf(given);
  const result = await explainTokenFaults(
    () =>
      probe({
        ...optionsOf(given, amount),
        settings,
        config,
        clock: systemClock,
        random: systemRandom,
        log: openLog(config.logLevel ?? 'error'),
        userAgent: `payrun/${VERSION}`,
        announce: (plan) => announce(plan, { settings, amount, given }),
      }),
    { remedy: 'Check PAYRUN_SERVICE_URL and the network with "payrun doctor". Nothing was written.' },
  );
  const record = recordOf(settings, result);
  const path = resolve(given.output);
  await writeCapabilitiesFile(path, record);
  const { findings, requests, payments } = result;
  if (given.json) printJson({ ...record, questions: findings, requests, payments, file: path });
  else print(describe(result, { path, amount }));
  return CAPABILITIES.every((name) => result.capabilities[name].holds) ? EXIT.ok : EXIT.unsettled;
}

function amountOf({ amountType, sourceCurrency, destinationCurrency }: Options): Money {
  const amount = parseAmount('1', amountType === 'SOURCE_AMOUNT' ? sourceCurrency : destinationCurrency);
  if (typeof amount === 'string') throw new Error(`1 is no amount: ${amount}`);
  return amount;
}

function optionsOf(
  given: Options,
  amount: Money,
): Pick<ProbeOptions, 'row' | 'otherBeneficiary' | 'failingBeneficiary' | 'waitMs'> {
  return {
    row: {
      line: 1,
      reference: `probe-${systemRandom.bytes(6).toString('hex')}`,
      beneficiaryIdentityId: given.beneficiary ?? null,
      originatorIdentityId: given.originator ?? null,
      amount,
      amountType: given.amountType,
      sourceCurrency: given.sourceCurrency,
      destinationCurrency: given.destinationCurrency,
      sourceCountry: given.sourceCountry ?? null,
      destinationCountry: given.destinationCountry ?? null,
      payoutCategory: given.payoutCategory ?? null,
      payinCategory: given.payinCategory ?? null,
      purposeCode: given.purposeCode ?? null,
      sourceOfCash: given.sourceOfCash ?? null,
    },
    otherBeneficiary: given.otherBeneficiary ?? null,
    failingBeneficiary: given.failingBeneficiary ?? null,
    waitMs: given.wait,
  };
}

/** Before the first payment. */
function announce(plan: Plan, about: { settings: ServiceSettings; amount: Money; given: Options }): void {
  const { settings, amount, given } = about;
  say(
    safeText(
      `payrun probe makes ${plan.payments} payments of ${formatAmount(amount)} ${amount.currency}` +
        ` (${given.sourceCurrency} to ${given.destinationCurrency}) at ${settings.url}, environment ${settings.environment}: simulated money.\n` +
        `It sends ${plan.paymentRequests} payment requests at most, so a service that breaks its promises may make more payments.\n` +
        `Beneficiary ${plan.beneficiaryIdentityId}. It asks for ${Math.ceil(given.wait / 1000)} s at most; a quote has to expire meanwhile.`,
    ),
  );
}

function recordOf(settings: ServiceSettings, { capabilities, notFoundCodes }: ProbeResult): CapabilitiesRecord {
  return {
    host: new URL(settings.url).host,
    environment: settings.environment,
    tenant: settings.tenantId,
    date: rfc3339(systemClock.now()),
    ...(notFoundCodes.length === 0 ? {} : { notFoundCodes: [...notFoundCodes] }),
    capabilities,
  };
}

function describe(result: ProbeResult, { path, amount }: { path: string; amount: Money }): string {
  const questions = result.findings.flatMap(({ question, asked, verdict, seen, conclusion, meaning }) => [
    `${question}  ${asked}`,
    `     seen: ${seen}`,
    `     ${verdict}: ${conclusion}`,
    `     ${meaning}`,
    '',
  ]);
  const capabilities = CAPABILITIES.flatMap((name) => {
    const { holds, evidence } = result.capabilities[name];
    return [`${holds ? 'holds         ' : 'DOES NOT HOLD '} ${name}`, `               ${evidence}`];
  });
  const money = `${result.payments} payments of ${formatAmount(amount)} ${amount.currency}`;
  const end = [
    '',
    `${result.requests} requests were sent and ${money} seen, all with internalIds that begin with "probe-".`,
    'HTTP shows no ledger: if the statement of the test account shows more of them, a quote was paid twice and one-payment-per-quote does not hold.',
    `Written: ${path}. Production reads it by PAYRUN_CAPABILITIES_FILE.`,
  ];
  return safeText([...questions, ...capabilities, ...end].join('\n'));
}
