import { systemClock } from '../../clock.ts';
import { ASSUMPTIONS } from '../../service/assumptions.ts';
import { columns } from '../columns.ts';
import { command } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { print, printJson, say } from '../print.ts';
import type { Finding } from './doctor/check.ts';
import { examine } from './doctor/examine.ts';

const SILENT_MS = 3000;

/** `payrun doctor`: checks everything that paying needs, with remedies. */
export const doctorCommand = command(
  'doctor',
  {
    options: {
      assumptions: "list what payrun assumes where the service's interface says nothing",
      json: 'print an array as JSON',
    },
    help:
      'It sends the service only a request for a token and a test of it, and only if a service is configured.' +
      '\nIt exits 0 if all is well or there are only warnings, 69 if Redis or the service cannot be reached, else 2.',
    examples: ['payrun doctor', 'payrun doctor --json'],
  },
  async ({ assumptions, json }) => (assumptions ? listAssumptions({ json }) : await diagnose({ json })),
);

/** Prints what doctor finds, and gives its exit code. */
export async function diagnose({ json }: { json: boolean }): Promise<ExitCode> {
  const examined = new AbortController();
  void tellSilence(examined.signal);
  const findings = await examine().finally(() => examined.abort());
  if (json) printJson(findings.map(documentOf));
  else print(describeFindings(findings));
  if (findings.some(({ unreachable }) => unreachable)) return EXIT.unavailable;
  return findings.every(({ ok }) => ok) ? EXIT.ok : EXIT.usage;
}

/** What does not answer keeps doctor waiting. */
async function tellSilence(until: AbortSignal): Promise<void> {
  await systemClock.sleep(SILENT_MS, until);
  if (!until.aborted) say('Not everything has answered yet; doctor still waits.');
}

function describeFindings(findings: readonly Finding[]): string {
  return columns(
    findings.flatMap((finding) => {
      const { check, found, remedy } = finding;
      const [first = '', ...more] = found.split('\n');
      return [
        [statusOf(finding), check, first],
        ...more.map((line) => ['', '', line]),
        ...(remedy === null ? [] : remedy.split('\n').map((line) => ['', '', `-> ${line}`])),
      ];
    }),
  );
}

function documentOf(finding: Finding): object {
  const { check, ok, found, remedy } = finding;
  return { check, status: statusOf(finding), ok, found, remedy };
}

/** In the four words that doctor has. */
function statusOf({ ok, remedy, isLookedAt }: Finding): string {
  if (!isLookedAt) return 'not looked at';
  if (!ok) return 'FAIL';
  return remedy === null ? 'ok' : 'warning';
}

function listAssumptions({ json }: { json: boolean }): ExitCode {
  if (json) printJson(ASSUMPTIONS);
  else {
    const cells = ASSUMPTIONS.flatMap(({ name, assumed, source, changedBy, why }) => [
      [name, assumed],
      ['', `from: ${source}`],
      ['', `changed by: ${changedBy ?? `nothing: ${why}`}`],
    ]);
    print(columns(cells));
  }
  return EXIT.ok;
}
