import { payoutFile } from './payrun.ts';

/** A usual mistake, made in a folder with these files; blanks part the words of the command. */
export interface Mistake {
  readonly mistake: string;
  readonly command: string;
  readonly files?: Readonly<Record<string, { readonly text: string; readonly mode?: number }>>;
  /** `FOLDER` in a value is the folder. */
  readonly env?: Readonly<Record<string, string>>;
  /** Words before the command, such as those that give it another disk. */
  readonly through?: readonly string[];
  /** A command that is given before. */
  readonly before?: string;
  /** Ctrl-C comes when this is shown; then the end of what is shown is told. */
  readonly until?: string;
  readonly code: number;
  /** Part of what is shown. */
  readonly says: string;
}

const HEADER = 'reference,beneficiaryIdentityId,amount,sourceCurrency,destinationCurrency';
const ID = '7d9f1c1e-5f0a-4c56-9f5e-2b1d3c4a5e6f';
const ROW = `INV-1,${ID},10.00,USD,MXN`;

function file(...lines: string[]): NonNullable<Mistake['files']> {
  return { 'a.csv': { text: lines.map((line) => `${line}\n`).join('') } };
}

const SERVICE = {
  PAYRUN_SERVICE_URL: 'http://127.0.0.1:9',
  PAYRUN_CLIENT_ID: 'id',
  PAYRUN_CLIENT_SECRET: 'secret',
  PAYRUN_TENANT_ID: 'tenant',
  PAYRUN_ENVIRONMENT: 'test',
  PAYRUN_DATA_DIR: '/var/lib/payrun',
};
const { PAYRUN_TENANT_ID: _tenant, ...HALF } = SERVICE;

const OWN_DISK = { PAYRUN_DATA_DIR: 'FOLDER/data' };

/** Runs a command with a file system of its own, in memory, in the place of `data`. */
function onDisk(options: string): readonly string[] {
  const mounted = `mount -t tmpfs -o ${options} tmpfs data && exec "$0" "$@"`;
  return ['unshare', '--map-root-user', '--mount', 'sh', '-c', mounted];
}

/** Runs a command on a terminal of 60 columns. */
const NARROW = ['sh', '-c', 'exec script -qec "stty cols 60; $*" /dev/null', 'sh'];

function rows(count: number): NonNullable<Mistake['files']> {
  return { 'a.csv': { text: payoutFile(Array.from({ length: count }, (_row, index) => [`INV-${index}`, '10.00'])) } };
}
const [SOME, MANY] = [rows(40), rows(30_000)];

/** What a newcomer does wrong, in the order of a first day. */
export const MISTAKES: readonly Mistake[] = [
  { mistake: 'no command', command: '', code: 2, says: 'Usage: payrun' },
  { mistake: 'a command with a slip of the pen', command: 'rnu a.csv', code: 2, says: 'unknown command' },
  { mistake: 'an option that there is not', command: 'list --jsn', code: 2, says: '--json' },
  { mistake: 'no file', command: 'run', code: 2, says: 'No payout file is named.' },
  { mistake: 'a wrong path', command: 'validate payout.csv', code: 3, says: 'payout.csv' },
  { mistake: 'a folder in place of a file', command: 'validate data', code: 3, says: 'data' },
  { mistake: 'an empty file', command: 'validate a.csv', files: file(), code: 3, says: 'E_' },
  { mistake: 'a header without rows', command: 'validate a.csv', files: file(HEADER), code: 3, says: 'E_' },
  { mistake: 'no header', command: 'validate a.csv', files: file(ROW), code: 3, says: 'E_' },
  {
    mistake: 'a column with another name',
    command: 'validate a.csv',
    files: file(HEADER.replace('amount', 'sum'), ROW),
    code: 3,
    says: 'amount',
  },
  {
    mistake: 'semicolons in place of commas',
    command: 'validate a.csv',
    files: file(HEADER.replaceAll(',', ';'), ROW.replaceAll(',', ';')),
    code: 3,
    says: 'E_',
  },
  {
    mistake: 'something else than a table',
    command: 'validate a.csv',
    files: { 'a.csv': { text: '%PDF-1.7\u0000\u0001\u0002' } },
    code: 3,
    says: 'E_',
  },
  {
    mistake: 'a sign of a currency',
    command: 'validate a.csv',
    files: file(HEADER, ROW.replace('10.00', '$10.00')),
    code: 3,
    says: 'E_AMOUNT',
  },
  {
    mistake: 'a decimal comma',
    command: 'validate a.csv',
    files: file(HEADER, ROW.replace('10.00', '"10,00"')),
    code: 3,
    says: 'E_AMOUNT',
  },
  {
    mistake: 'nothing to pay',
    command: 'validate a.csv',
    files: file(HEADER, ROW.replace('10.00', '0.00')),
    code: 3,
    says: 'E_',
  },
  {
    mistake: 'a negative amount',
    command: 'validate a.csv',
    files: file(HEADER, ROW.replace('10.00', '-10.00')),
    code: 3,
    says: 'E_',
  },
  {
    mistake: 'more digits than the currency has',
    command: 'validate a.csv',
    files: file(HEADER, ROW.replace('10.00', '10.001')),
    code: 3,
    says: 'E_',
  },
  {
    mistake: 'a currency that there is not',
    command: 'validate a.csv',
    files: file(HEADER, ROW.replace('USD', 'USX')),
    code: 3,
    says: 'E_',
  },
  {
    mistake: 'a name in place of an identity id',
    command: 'validate a.csv',
    files: file(HEADER, ROW.replace(ID, 'Anna')),
    code: 3,
    says: 'E_',
  },
  {
    mistake: 'the same reference twice',
    command: 'validate a.csv',
    files: file(HEADER, ROW, ROW),
    code: 3,
    says: 'E_',
  },
  {
    mistake: 'a row with a cell too many',
    command: 'validate a.csv',
    files: file(HEADER, `${ROW},x`),
    code: 3,
    says: 'E_',
  },
  {
    mistake: 'a quote that is not closed',
    command: 'validate a.csv',
    files: file(HEADER, ROW.replace('INV', '"INV')),
    code: 3,
    says: 'E_',
  },
  {
    mistake: 'a file that was cut',
    command: 'validate a.csv',
    files: { 'a.csv': { text: `${HEADER}\n${ROW}` } },
    code: 3,
    says: 'E_TRUNCATED',
  },
  {
    mistake: 'another total than was expected',
    command: 'validate a.csv --expect-total USD=11.00',
    files: file(HEADER, ROW),
    code: 3,
    says: 'E_',
  },
  {
    mistake: 'a total without a currency',
    command: 'validate a.csv --expect-total 11.00',
    files: file(HEADER, ROW),
    code: 2,
    says: 'USD=1234.56',
  },
  {
    mistake: 'a template that there is not',
    command: 'validate a.csv --template excel',
    files: file(HEADER, ROW),
    code: 2,
    says: 'excel-de',
  },
  {
    mistake: 'a template that is no JSON',
    command: 'validate a.csv --template t.json',
    files: { ...file(HEADER, ROW), 't.json': { text: '{' } },
    code: 2,
    says: 'Invalid template',
  },
  {
    mistake: 'a duration without its unit',
    command: 'run a.csv --wait 15',
    files: file(HEADER, ROW),
    code: 2,
    says: 'for example 45s',
  },
  { mistake: 'a port that there is not', command: 'serve --sandbox --port 99999', code: 2, says: 'from 1 to 65535' },
  {
    mistake: 'no service and no sandbox',
    command: 'submit a.csv',
    files: file(HEADER, ROW),
    code: 2,
    says: 'No payments service is configured.',
  },
  {
    mistake: 'half of the settings',
    command: 'run a.csv',
    files: file(HEADER, ROW),
    env: HALF,
    code: 2,
    says: 'PAYRUN_TENANT_ID',
  },
  {
    mistake: 'a service and the sandbox',
    command: 'submit a.csv --sandbox',
    files: file(HEADER, ROW),
    env: SERVICE,
    code: 2,
    says: '--sandbox asks for another one',
  },
  {
    mistake: 'an address without http',
    command: 'run a.csv',
    files: file(HEADER, ROW),
    env: { ...SERVICE, PAYRUN_SERVICE_URL: 'payments.example' },
    code: 2,
    says: 'PAYRUN_SERVICE_URL',
  },
  {
    mistake: 'a setting with a slip of the pen',
    command: 'run a.csv',
    files: file(HEADER, ROW),
    env: { PAYRUN_RATTE: '5' },
    code: 2,
    says: 'PAYRUN_RATE',
  },
  {
    mistake: 'settings that others may read',
    command: 'list',
    files: { 'payrun.env': { text: 'PAYRUN_RATE=5\n', mode: 0o644 } },
    code: 2,
    says: 'payrun.env',
  },
  {
    mistake: 'a line that is no setting',
    command: 'list',
    files: { 'payrun.env': { text: 'rate is 5\n' } },
    code: 2,
    says: 'payrun.env',
  },
  { mistake: 'a halt in the wrong folder', command: 'halt --reason wrong', code: 2, says: 'nothing to halt' },
  { mistake: 'a look in the wrong folder', command: 'list', code: 2, says: 'There is no ledger in' },
  {
    mistake: 'an approval of nothing that was looked at',
    command: 'approve 20260131-k3f9xq --as bob',
    code: 2,
    says: '--sha256',
  },
  {
    mistake: 'Redis is not there',
    command: 'list',
    env: { REDIS_URL: 'redis://127.0.0.1:9' },
    code: 69,
    says: '127.0.0.1:9',
  },
  {
    mistake: 'a rehearsal with the real service',
    command: 'run a.csv --rehearse storm',
    files: file(HEADER, ROW),
    env: SERVICE,
    code: 2,
    says: 'A rehearsal pays nobody',
  },
  {
    mistake: 'the service is down',
    command: 'run a.csv',
    files: file(HEADER, ROW),
    env: { ...SERVICE, ...OWN_DISK },
    until: '0 of 1 rows were sent, 1 wait. payrun keeps trying',
    code: 130,
    says: '1 wait. payrun keeps trying and goes on by itself.',
  },
  {
    mistake: 'a full disk',
    command: 'run a.csv',
    files: file(HEADER, ROW),
    env: OWN_DISK,
    through: onDisk('size=16k'),
    code: 69,
    says: 'its disk is full',
  },
  {
    mistake: 'a disk that can only be read',
    command: 'run a.csv',
    files: file(HEADER, ROW),
    env: OWN_DISK,
    through: onDisk('ro'),
    code: 69,
    says: 'is on a disk that is read-only',
  },
  {
    mistake: 'Ctrl-C while the file is read',
    command: 'run a.csv',
    files: MANY,
    until: 'reading a.csv',
    code: 130,
    says: 'nothing was paid',
  },
  {
    mistake: 'Ctrl-C while rows are recorded',
    command: 'run a.csv',
    files: MANY,
    until: 'recording',
    code: 130,
    says: 'nothing was paid',
  },
  {
    mistake: 'Ctrl-C while the run is paid',
    command: 'run a.csv',
    files: SOME,
    env: { PAYRUN_RATE: '5' },
    until: 'paying',
    code: 130,
    says: 'The same command carries on.',
  },
  {
    mistake: 'Ctrl-C while payments settle',
    command: 'run a.csv',
    before: 'sandbox set completesAfterMs=600000 --folder .payrun/sandbox',
    files: SOME,
    until: 'waiting for the service to settle 40',
    code: 130,
    says: '40 rows were sent',
  },
  {
    mistake: 'questions without a terminal',
    command: 'init',
    through: ['sh', '-c', 'exec "$0" "$@" </dev/null'],
    code: 130,
    says: 'nothing was written',
  },
  {
    mistake: 'a terminal of 60 columns',
    command: 'list --help',
    through: NARROW,
    code: 0,
    says: 'payrun list 20260131-k3f9xq --outcome held',
  },
  {
    mistake: 'a language with no letters but those of ASCII (`LANG=C`)',
    command: 'validate Köln.csv',
    files: { 'Köln.csv': { text: `${HEADER}\n${ROW}\n` } },
    env: { LANG: 'C' },
    code: 0,
    says: 'K?ln.csv',
  },
];
