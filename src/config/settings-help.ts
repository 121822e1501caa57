export interface SettingHelp {
  readonly name: string;
  /** What holds where it is not set. */
  readonly usual: string;
  readonly about: string;
}

type Line = readonly [name: string, usual: string, about: string];

const LINES: readonly Line[] = [
  [
    'REDIS_URL',
    'a private Redis',
    'where the ledger is: redis://, rediss://, unix://, redis+sentinel://, redis+cluster://',
  ],
  ['PAYRUN_SERVICE_URL', 'none', 'address of the payments service; with the next four, the five service settings'],
  ['PAYRUN_CLIENT_ID', 'none', 'client id of the credential'],
  ['PAYRUN_CLIENT_SECRET', 'none', 'secret of the credential'],
  ['PAYRUN_TENANT_ID', 'none', 'tenant'],
  ['PAYRUN_ENVIRONMENT', 'none', 'test or prod'],
  ['PAYRUN_AUDIENCE', 'from environment and tenant', 'audience of the access token'],
  ['PAYRUN_HTTP_HOST', 'none', 'a host that may be reached without TLS, in test'],
  ['PAYRUN_PROXY', 'none', 'a forward proxy for everything that goes to the service'],
  ['PAYRUN_CA_FILE', 'none', 'certificates in PEM form that are trusted besides those that Node brings'],
  ['PAYRUN_DATA_DIR', '.payrun', 'the data directory; with a service it is required, as an absolute path'],
  ['PAYRUN_CONCURRENCY', '64', 'payouts in work in one process'],
  ['PAYRUN_RATE', 'none', 'payment requests a second over all workers'],
  ['PAYRUN_SLICE', 'auto', 'payouts in one job'],
  ['PAYRUN_WINDOW', '200', 'slices of a run in the queue'],
  ['PAYRUN_REQUEST_TIMEOUT', '45s', 'one request, to the end of its answer'],
  ['PAYRUN_ARM_DEADLINE', '2s', 'from arming to the first byte'],
  ['PAYRUN_BREAKER', '100/200', 'pause a run when so many of its last so many payments went badly, or off'],
  ['PAYRUN_QUOTE_GRACE', '5m (sandbox: 1s)', 'after its end, before a quote can be proven dead'],
  ['PAYRUN_NOT_FOUND_GAP', '30s (sandbox: 1s)', 'between the two look-ups that prove a quote dead'],
  ['PAYRUN_TRACK_EVERY', '30s (sandbox: 1s)', 'how often a payment is followed'],
  ['PAYRUN_TRACK_RATE', '5 (sandbox: 2000)', 'requests a second that follow payments'],
  ['PAYRUN_WATCH_RETURNS', '10d', 'how long completed payments are looked at for returns'],
  ['PAYRUN_TOKEN_CACHE', 'shared', 'one access token for all workers, or off: one in each process'],
  ['PAYRUN_TOKEN_MARGIN', '60s', 'a token is renewed this long before its end'],
  ['PAYRUN_ASSUME', 'none', 'capabilities taken as given, in test only'],
  ['PAYRUN_CAPABILITIES_FILE', 'none', 'capabilities that "payrun probe" found out about a service'],
  ['PAYRUN_PAYOUT_CATEGORY', 'BANK', 'of a row that names none'],
  ['PAYRUN_PAYIN_CATEGORY', 'PRE_FUNDING', 'of a row that names none'],
  ['PAYRUN_REPORT_DIR', 'reports in the data directory', 'where reports are written'],
  ['PAYRUN_REMEMBER', '400d', 'how long references are remembered'],
  ['PAYRUN_DUPLICATES_WITHIN', '7d', 'a payout like one handed in so shortly before is held, or off'],
  ['PAYRUN_RETENTION', 'kept', 'rows and reports of runs that ended so long ago are removed'],
  ['PAYRUN_PREFIX', '{payrun}', 'of all keys in Redis'],
  ['PAYRUN_REDIS_DURABILITY', 'required', 'overridden goes on with a Redis that may forget; every report says so'],
  ['PAYRUN_CONFIRM_PROD', 'none', 'the tenant again, required in prod'],
  ['PAYRUN_CONFIG', 'none', 'a JSON file with what does not fit into a variable'],
  ['PAYRUN_LEDGER_KEY', 'the client secret', 'seals what the ledger says: one key a line, the first signs, all verify'],
  ['PAYRUN_SIGNING_KEY', 'signing-key.pem in the data directory', 'Ed25519 key that signs reports'],
  ['PAYRUN_SFTP_KEY', 'none', 'private key for an inbox at an SFTP server'],
  ['PAYRUN_SFTP_HOST_KEY', 'none', "SHA256:... fingerprint of that server's key"],
  ['PAYRUN_METRICS_PORT', 'none', 'where a worker tells its figures on this machine'],
  ['PAYRUN_OTEL', 'off', 'on sends traces to a collector'],
  ['PAYRUN_LOG_LEVEL', 'info; error for what a person waits for', 'fatal, error, warn, info, debug, trace or silent'],
];

/** What `payrun help settings` tells of each setting; a test compares the names with those that are read. */
export const SETTINGS_HELP: readonly SettingHelp[] = LINES.map(([name, usual, about]) => ({ name, usual, about }));
