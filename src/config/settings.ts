import { z } from 'zod';
import { duration, durationFrom, LIKELY_MS, REMEMBER_MS } from '../duration.ts';
import { signingKey } from './signing-key.ts';
import {
  breaker,
  certificateFile,
  filePath,
  hostKeys,
  integer,
  keyLines,
  oneOf,
  proxyAddress,
  redisAddress,
  type SettingText,
  text,
} from './values.ts';

/** What payrun must know of a service before a quote can be proven dead: docs/glossary.md, "capability". */
export const CAPABILITIES = [
  'payment-id-is-quote-id',
  'expired-quote-refused',
  'one-payment-per-quote',
  'payment-visible-in-time',
] as const;
export type Capability = (typeof CAPABILITIES)[number];

const capabilityList = z
  .string()
  .transform((list, context) => {
    const names = list.split(',').map((name) => name.trim());
    const known = names.filter((name): name is Capability => CAPABILITIES.some((capability) => capability === name));
    if (known.length !== names.length) {
      context.addIssue(`takes a comma-separated list of: ${CAPABILITIES.join(', ')}`);
      return z.NEVER;
    }
    return known;
  })
  .meta({ takes: 'a comma-separated list of capabilities' });

const slice = z
  .string()
  .transform((value) => (value === 'auto' ? undefined : value))
  .refine((value) => value === undefined || /^([1-9][0-9]{0,2}|1000)$/.test(value), {
    error: 'must be auto or an integer from 1 to 1000',
  })
  .transform((value) => (value === undefined ? undefined : Number.parseInt(value, 10)))
  .meta({ takes: '`auto` or 1 to 1000' });

const duplicatesWithin = z
  .union([z.literal('off').transform(() => null), durationFrom('1m', '400d')])
  .meta({ takes: '`off` or `1m` to `400d`' });

const prefix = z
  .string()
  .regex(/^[A-Za-z0-9_-]*\{[A-Za-z0-9_-]+\}$/, 'must hold one hash tag in braces, for example {payrun}')
  .meta({ takes: 'a name with one hash tag in braces' });

const serviceAddress = z
  .url({ protocol: /^https?$/, error: 'must be an https:// or http:// address' })
  .meta({ takes: 'an address' });

/** The text of a setting in docs/settings.md: its section, its default as one would write it, what it does. */
const about = (section: SettingText['section'], standard: string, description: string): SettingText => ({
  section,
  standard,
  description,
});

/** The same of a secret: it is shown by its fingerprint only. */
const aboutSecret = (...said: Parameters<typeof about>): SettingText => ({ ...about(...said), isSecret: true });

const offOrOn = (section: SettingText['section'], description: string) =>
  oneOf(['off', 'on'])
    .default('off')
    .meta(about(section, '`off`', description));

/** Every setting: how its text is read, and what docs/settings.md says of it. A test holds the page equal to this. */
export const settingsSchema = z.object({
  REDIS_URL: redisAddress
    .optional()
    .meta(
      about(
        'Redis and files',
        'a private Redis',
        'Where the ledger is. Several servers: [scaling](scaling.md). In `prod`, a Redis reached over the network needs ' +
          '[a password](operation.md#who-may-reach-redis).',
      ),
    ),
  PAYRUN_SERVICE_URL: serviceAddress
    .optional()
    .meta(
      about(
        'The service',
        '',
        'Base address of the payments service. `http` is accepted only for this machine and `PAYRUN_HTTP_HOST`, and never in `prod`.',
      ),
    ),
  PAYRUN_CLIENT_ID: text.optional().meta(about('The service', '', 'Client id for the access token.')),
  PAYRUN_CLIENT_SECRET: text
    .optional()
    .meta(aboutSecret('The service', '', 'Client secret. Keep it in a file and set `PAYRUN_CLIENT_SECRET_FILE`.')),
  PAYRUN_TENANT_ID: text.optional().meta(about('The service', '', 'Your tenant at the service.')),
  PAYRUN_ENVIRONMENT: oneOf(['test', 'prod'])
    .optional()
    .meta(about('The service', '', '`prod` moves real money.')),
  PAYRUN_AUDIENCE: text
    .optional()
    .meta(
      about(
        'The service',
        'from environment and tenant',
        'Audience of the access token. Default: `urn:servicexcurrent-<environment>:<tenant>`.',
      ),
    ),
  PAYRUN_HTTP_HOST: text
    .optional()
    .meta(about('The service', '', 'A host that may be reached without TLS. Only in `test`.')),
  PAYRUN_PROXY: proxyAddress
    .optional()
    .meta(
      about(
        'The service',
        'none',
        'A forward proxy, with credentials if it needs them. All requests to the service go through its tunnel (CONNECT). ' +
          'payrun ignores `HTTPS_PROXY`.',
      ),
    ),
  PAYRUN_CA_FILE: certificateFile
    .optional()
    .meta(
      about(
        'The service',
        'none',
        'Certificates (PEM) to trust in addition to those of Node. payrun always verifies certificates.',
      ),
    ),
  PAYRUN_DATA_DIR: filePath
    .optional()
    .meta(
      about(
        'Redis and files',
        '`.payrun`, for the sandbox only',
        'The data directory: intent logs, reports, copies of the audit log. With a service it is required, as an absolute ' +
          'path on a disk. Each host needs its own.',
      ),
    ),
  PAYRUN_CONCURRENCY: integer(1, 10_000)
    .default(64)
    .meta(
      about(
        'Speed',
        '64',
        'Quotes and payments of one process that are under way at the service at a time; payments, half as many more for a moment.',
      ),
    ),
  PAYRUN_RATE: integer(1, 100_000)
    .optional()
    .meta(about('Speed', 'none', 'Limit of payment requests a second, over all workers.')),
  PAYRUN_RATE_MIN: integer(1, 100_000)
    .optional()
    .meta(
      about(
        'Speed',
        'as `PAYRUN_RATE`',
        'With it the rate moves between it and `PAYRUN_RATE`: it climbs while the service answers well, and halves on a 429 or a time-out ' +
          '([scaling](scaling.md#the-rate)).',
      ),
    ),
  PAYRUN_SLICE: slice
    .optional()
    .meta(about('Speed', '`auto`', 'Payouts in one job. `auto` chooses by the size of the run.')),
  PAYRUN_WINDOW: integer(1, 10_000)
    .default(200)
    .meta(about('Speed', '200', 'How many jobs of a run may be in the queue.')),
  PAYRUN_REQUEST_TIMEOUT: durationFrom('100ms', '10m')
    .default(45_000)
    .meta(about('Speed', '45s', 'Time limit of one request to the service, to the end of its answer.')),
  PAYRUN_ARM_DEADLINE: durationFrom('50ms', '1m')
    .default(2000)
    .meta(
      about(
        'Safety',
        '2s',
        'Longest time from the start of arming to the first byte of the payment request. After it payrun does not send the request.',
      ),
    ),
  PAYRUN_BREAKER: breaker
    .default({ bad: 100, of: 200 })
    .meta(
      about(
        'Safety',
        '100/200',
        'Pause a run when this many of its last payments are unknown or refused (100 of the last 200).',
      ),
    ),
  PAYRUN_QUOTE_GRACE: durationFrom('100ms', '7d')
    .optional()
    .meta(
      about(
        'Safety',
        '5m (sandbox: 1s)',
        'How long after the end of a quote a "not found" can count towards [proven dead](glossary.md).',
      ),
    ),
  PAYRUN_NOT_FOUND_GAP: durationFrom('100ms', '7d')
    .optional()
    .meta(about('Safety', '30s (sandbox: 1s)', 'Least time between the two "not found" that prove a quote dead.')),
  PAYRUN_TRACK_EVERY: durationFrom('100ms', '7d')
    .optional()
    .meta(about('Speed', '30s (sandbox: 1s)', 'How often payrun looks at an accepted payment until it ends.')),
  PAYRUN_TRACK_RATE: integer(1, 100_000)
    .optional()
    .meta(about('Speed', '5 (sandbox: 2000)', 'Limit of these requests a second, over all workers.')),
  PAYRUN_WATCH_RETURNS: duration
    .default(864_000_000)
    .meta(about('Reports and records', '10d', "How long after a payment's end payrun looks for its return.")),
  PAYRUN_TOKEN_CACHE: oneOf(['shared', 'off'])
    .default('shared')
    .meta(
      about(
        'The service',
        '`shared`',
        '`shared`: all workers use one access token, encrypted in Redis. `off`: each process gets its own.',
      ),
    ),
  PAYRUN_TOKEN_MARGIN: durationFrom('1s', '1h')
    .default(60_000)
    .meta(about('The service', '60s', 'How long before its end an access token is renewed.')),
  PAYRUN_ASSUME: capabilityList
    .default([])
    .meta(about('Safety', 'none', 'Capabilities to take as given. Only in `test`.')),
  PAYRUN_CAPABILITIES_FILE: filePath
    .optional()
    .meta(about('Safety', 'none', 'The file that [a probe](probe.md) of the service wrote.')),
  PAYRUN_PAYOUT_CATEGORY: z
    .string()
    .min(1)
    .max(128)
    .default('BANK')
    .meta(about('Payout files', '`BANK`', 'Payout category of a row that has none.')),
  PAYRUN_PAYIN_CATEGORY: z
    .string()
    .min(1)
    .max(128)
    .default('PRE_FUNDING')
    .meta(about('Payout files', '`PRE_FUNDING`', 'Payin category of a row that has none.')),
  PAYRUN_REPORT_DIR: filePath
    .optional()
    .meta(about('Redis and files', '`<data dir>/reports`', 'Where payrun writes reports.')),
  PAYRUN_REMEMBER: duration
    .default(REMEMBER_MS)
    .meta(
      about(
        'Payout files',
        '400d',
        'How long after its payout ended payrun remembers a reference, to find a row that is handed in again. ' +
          'A safety setting: two people change it.',
      ),
    ),
  PAYRUN_DUPLICATES_WITHIN: duplicatesWithin
    .default(LIKELY_MS)
    .meta(
      about(
        'Payout files',
        '7d',
        'Hold a payout with the same beneficiary, amount and currency as one that is open, or was handed in or sent within this time ' +
          '([controls](controls.md)). A safety setting: two people change it.',
      ),
    ),
  PAYRUN_RETENTION: durationFrom('1d', '36500d')
    .optional()
    .meta(
      about(
        'Reports and records',
        'never deleted',
        'Delete the rows and reports of a final run this long after it ended. A purge by hand, the page of the run or a ' +
          '[schedule](schedules.md) does it. Totals and hashes stay.',
      ),
    ),
  PAYRUN_PREFIX: prefix.default('{payrun}').meta(about('Redis and files', '{payrun}', 'Prefix of all keys in Redis.')),
  PAYRUN_BALANCES: offOrOn(
    'The service',
    '`on` asks the service for the balance (`GET /v2/balances`, which its interface page does not have) wherever [what a run needs](controls.md#costs) is shown.',
  ),
  PAYRUN_REDIS_DURABILITY: oneOf(['required', 'overridden'])
    .default('required')
    .meta(
      about(
        'Safety',
        '`required`',
        '`overridden` accepts a Redis that may lose what it acknowledged. Every report then says so.',
      ),
    ),
  PAYRUN_CONFIRM_PROD: text
    .optional()
    .meta(about('The service', '', 'The tenant id a second time. Required in `prod`.')),
  PAYRUN_CONFIG: filePath
    .optional()
    .meta(
      about('Redis and files', 'none', 'A JSON file with the settings that do not fit into a variable: see below.'),
    ),
  PAYRUN_LEDGER_KEY: keyLines
    .optional()
    .meta(
      aboutSecret(
        'Safety',
        'the client secret',
        'Key that [seals](security.md#the-ledgers-key) what the ledger says: one a line, the first signs, all verify. Keep it in a file and set `PAYRUN_LEDGER_KEY_FILE`. The same for all processes of a ledger.',
      ),
    ),
  PAYRUN_SIGNING_KEY: signingKey
    .optional()
    .meta(
      aboutSecret(
        'Safety',
        '`signing-key.pem` in the data directory, if there is one',
        'Ed25519 key that signs reports; [verify.md](verify.md) shows how to make one. Keep it in a file and set `PAYRUN_SIGNING_KEY_FILE`.',
      ),
    ),
  PAYRUN_SFTP_KEY: text
    .optional()
    .meta(
      aboutSecret(
        'Payout files',
        'none',
        'Private key for an [inbox](inbox.md) on an SFTP server. Keep it in a file and set `PAYRUN_SFTP_KEY_FILE`.',
      ),
    ),
  PAYRUN_SFTP_HOST_KEY: hostKeys
    .optional()
    .meta(about('Payout files', 'none', 'Fingerprint of the host key of that server. Required with the private key.')),
  PAYRUN_METRICS_PORT: integer(1, 65_535)
    .optional()
    .meta(about('Logs and metrics', 'none', 'Port on `127.0.0.1` where a worker shows its [metrics](monitoring.md).')),
  PAYRUN_OTEL: offOrOn(
    'Logs and metrics',
    '`on` sends traces to `OTEL_EXPORTER_OTLP_ENDPOINT` ([monitoring](monitoring.md)).',
  ),
  PAYRUN_LOG_LEVEL: oneOf(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'])
    .optional()
    .meta(
      about(
        'Logs and metrics',
        '`info`; `error` for commands that a person waits for',
        'Logs go to standard error: words on a terminal, else one JSON object a line.',
      ),
    ),
});
export type Settings = z.infer<typeof settingsSchema>;
