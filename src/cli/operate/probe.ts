import { resolve } from 'node:path';
import { Command } from 'commander';
import { z } from 'zod';
import { rfc3339, systemClock, systemRandom } from '../../clock.ts';
import { CAPABILITIES, type Config, readConfig, type ServiceSettings } from '../../config/config.ts';
import { durationFrom } from '../../duration.ts';
import { openLog } from '../../log.ts';
import { currencies, formatAmount, type Money, parseAmount } from '../../money.ts';
import { AMOUNT_TYPES, SOURCES_OF_CASH } from '../../payout.ts';
import { EXIT, type ExitCode } from '../../refusal.ts';
import { type CapabilitiesRecord, writeCapabilitiesFile } from '../../service/capabilities-file.ts';
import { type Plan, type ProbeOptions, type ProbeResult, probe } from '../../service/probe/probe.ts';
import { explainTokenFaults } from '../../service/token-refusal.ts';
import { VERSION } from '../../version.ts';
import { requireService } from '../open.ts';
import { parseOptions } from '../options.ts';
import { print, printJson, safeText, say } from '../print.ts';

const identityId = z.guid('must be a UUID').toLowerCase();
const currency = z
  .string()
  .toUpperCase()
  .refine((code) => currencies().includes(code), { error: 'must be the code of a currency, for example USD' });
const country = z.string().regex(/^[A-Z]{2}$/, 'must be two capital letters');
const word = z.string().min(1, 'must not be empty').max(128);

const schema = z.object({
  beneficiary: identityId.optional(),
  otherBeneficiary: identityId.optional(),
  failingBeneficiary: identityId.optional(),
  originator: identityId.optional(),
  sourceCurrency: currency,
  destinationCurrency: currency,
  amountType: z.enum(AMOUNT_TYPES),
  sourceCountry: country.optional(),
  destinationCountry: country.optional(),
  payoutCategory: word.optional(),
  payinCategory: word.optional(),
  purposeCode: word.optional(),
  sourceOfCash: z.enum(SOURCES_OF_CASH).optional(),
  output: z.string().min(1, 'must not be empty'),
  wait: durationFrom('1s', '1d'),
  json: z.boolean(),
});
type Options = z.output<typeof schema>;

/** `payrun probe`: finds out in the test environment which capabilities the service has. */
export function probeCommand(end: (code: ExitCode) => void): Command {
  return new Command('probe')
    .option('--beneficiary <id>', 'identity that is paid; the first that the service lists when left out')
    .option('--other-beneficiary <id>', 'a second one, to see what the same quote does for it')
    .option('--failing-beneficiary <id>', 'one whose payments fail, to see what happens after a failure')
    .option('--originator <id>', 'identity on whose behalf is paid (third-party payment)')
    .option('--source-currency <code>', 'currency that is paid from', 'USD')
    .option('--destination-currency <code>', 'currency that is paid out', 'MXN')
    .option('--amount-type <type>', `which of the two has the amount 1: ${AMOUNT_TYPES.join(' or ')}`, 'SOURCE_AMOUNT')
    .option('--source-country <code>', 'where the service wants it')
    .option('--destination-country <code>', 'where the service wants it')
    .option('--payout-category <word>', 'instead of PAYRUN_PAYOUT_CATEGORY')
    .option('--payin-category <word>', 'instead of PAYRUN_PAYIN_CATEGORY')
    .option('--purpose-code <code>', 'where the service wants it')
    .option('--source-of-cash <code>', 'where the service wants it')
    .option('--output <file>', 'where the findings are written', 'capabilities.json')
    .option('--wait <duration>', 'all of it ends within this; at least as long as a quote lives', '15m')
    .option('--json', 'print the findings as JSON', false)
    .addHelpText(
      'after',
      '\nIt needs the five service settings, for the test environment, and no Redis. It refuses prod.' +
        '\nIt exits 0 when all four capabilities hold, 5 when one does not or is not known.' +
        '\n\nExamples:\n  payrun probe\n  payrun probe --beneficiary 11111111-1111-4111-8111-111111111111 --source-currency EUR --destination-currency USD',
    )
    .action(async (raw: unknown) => {
      const options = parseOptions(schema, raw);
      end(await probeService(readConfig(), options));
    });
}

async function probeService(config: Config, options: Options): Promise<ExitCode> {
  requireService(config, { sandbox: false });
  const { service: settings } = config;
  if (settings === undefined) return EXIT.usage;
  const amount = amountOf(options);
  const result = await explainTokenFaults(
    () =>
      probe({
        ...optionsOf(options, amount),
        settings,
        config,
        clock: systemClock,
        random: systemRandom,
        log: openLog(config.logLevel ?? 'error'),
        userAgent: `payrun/${VERSION}`,
        announce: (plan) => announce(plan, { settings, amount, options }),
      }),
    { remedy: 'Check PAYRUN_SERVICE_URL and the network with "payrun doctor". Nothing was written.' },
  );
  const record = recordOf(settings, result);
  const path = resolve(options.output);
  await writeCapabilitiesFile(path, record);
  const { findings, requests, payments } = result;
  if (options.json) printJson({ ...record, questions: findings, requests, payments, file: path });
  else print(describe(result, { path, amount }));
  return CAPABILITIES.every((name) => result.capabilities[name].holds) ? EXIT.ok : EXIT.unsettled;
}

function amountOf({ amountType, sourceCurrency, destinationCurrency }: Options): Money {
  const amount = parseAmount('1', amountType === 'SOURCE_AMOUNT' ? sourceCurrency : destinationCurrency);
  if (typeof amount === 'string') throw new Error(`1 is no amount: ${amount}`);
  return amount;
}

function optionsOf(
  options: Options,
  amount: Money,
): Pick<ProbeOptions, 'row' | 'otherBeneficiary' | 'failingBeneficiary' | 'waitMs'> {
  return {
    row: {
      line: 1,
      reference: `probe-${systemRandom.bytes(6).toString('hex')}`,
      beneficiaryIdentityId: options.beneficiary ?? null,
      originatorIdentityId: options.originator ?? null,
      amount,
      amountType: options.amountType,
      sourceCurrency: options.sourceCurrency,
      destinationCurrency: options.destinationCurrency,
      sourceCountry: options.sourceCountry ?? null,
      destinationCountry: options.destinationCountry ?? null,
      payoutCategory: options.payoutCategory ?? null,
      payinCategory: options.payinCategory ?? null,
      purposeCode: options.purposeCode ?? null,
      sourceOfCash: options.sourceOfCash ?? null,
    },
    otherBeneficiary: options.otherBeneficiary ?? null,
    failingBeneficiary: options.failingBeneficiary ?? null,
    waitMs: options.wait,
  };
}

/** Before the first payment. */
function announce(plan: Plan, about: { settings: ServiceSettings; amount: Money; options: Options }): void {
  const { settings, amount, options } = about;
  say(
    safeText(
      `payrun probe makes ${plan.payments} payments of ${formatAmount(amount)} ${amount.currency}` +
        ` (${options.sourceCurrency} to ${options.destinationCurrency}) at ${settings.url}, environment ${settings.environment}: simulated money.\n` +
        `It sends ${plan.paymentRequests} payment requests at most, so a service that breaks its promises may make more payments.\n` +
        `Beneficiary ${plan.beneficiaryIdentityId}. It asks for ${Math.ceil(options.wait / 1000)} s at most; a quote has to expire meanwhile.`,
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
