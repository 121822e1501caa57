import { escapeUnseen } from '../intake/problems/shown-value.ts';
import { OUTCOMES, placeOfId } from '../payout.ts';
import type { Notification } from './notification.ts';

const PROBLEMS_SHOWN_MAX = 20;

/** A notification for people: a subject, and a few lines of plain text. */
export function mailOf(notification: Notification): { subject: string; text: string } {
  const where = notification.sandbox ? 'sandbox' : notification.environment;
  const subject = escapeUnseen(`[payrun ${where}] ${headline(notification)}`);
  const facts = [...runLines(notification), ...otherLines(notification)];
  const lines = [
    `${headline(notification)}.`,
    '',
    ...facts,
    ...(facts.length > 0 ? [''] : []),
    REMEDY[notification.event],
    '',
    `${notification.at} · ${notification.id}`,
  ];
  return { subject, text: `${lines.map(escapeUnseen).join('\n')}\n` };
}

function headline(notification: Notification): string {
  const { runId, payouts, payout } = notification;
  const count = `${payouts?.count ?? 0} ${payouts?.count === 1 ? 'payout' : 'payouts'}`;
  const one = payout?.id;
  const are = payouts?.count === 1 ? 'is' : 'are';
  const words: Readonly<Record<Notification['event'], string>> = {
    accepted: `Run ${runId} was accepted`,
    refused: `A payout file was refused`,
    'awaiting-approval': `Run ${runId} waits for approval`,
    paused: `Run ${runId} is paused`,
    'cut-off': `Run ${runId} will miss a cut-off`,
    finished: `Run ${runId} is finished`,
    cancelled: `Run ${runId} was cancelled`,
    settled: `All payments of run ${runId} are final`,
    unknown: `${count} ${are} unknown in run ${runId}`,
    held: `${count} ${are} held in run ${runId}`,
    returned: `${count} came back in run ${runId}`,
    failed: `${count} failed in run ${runId}`,
    'pending-long': `${count} ${are} pending for more than ${payouts?.olderThanDays ?? 0} days in run ${runId}`,
    'payout.paid': `Payout ${one} was paid`,
    'payout.failed': `Payout ${one} failed`,
    'payout.returned': `Payout ${one} came back`,
    'payout.held': `Payout ${one} is held`,
    halted: 'Everything is halted',
    released: 'The halt was released',
    'disk-low': 'A disk is nearly full',
    test: 'This is a test',
  };
  return words[notification.event];
}

/** What to do about it. */
const REMEDY: Readonly<Record<Notification['event'], string>> = {
  accepted: 'Its page shows how far it is.',
  refused: 'Nothing of it is paid. A check of it shows each place and remedy; hand in the corrected file.',
  'awaiting-approval': 'Look at it, then approve it or cancel it.',
  paused: 'Nothing more of it is sent until somebody resumes it.',
  'cut-off': 'It goes on. What must not be late: pause other runs, or raise the rate.',
  finished: 'Its report says what became of each row.',
  cancelled: 'Its report says what became of each row.',
  settled: 'Its last report says what became of each row.',
  unknown: 'They are looked up by themselves.',
  held: 'People have to decide.',
  returned: 'They are not paid again by themselves.',
  failed: 'They are not paid again by themselves.',
  'pending-long': 'Ask the service about them.',
  'payout.paid': 'Nothing is to be done.',
  'payout.failed': 'It is not paid again by itself.',
  'payout.returned': 'It is not paid again by itself.',
  'payout.held': 'People have to decide.',
  halted: 'Nothing is sent for any run until two people release it.',
  released: 'Runs that are paused stay so.',
  'disk-low': 'Make room, or move the folder to a larger disk: a full one stops all payments.',
  test: 'Nothing happened and nothing is to be done.',
};

function runLines({ run, waitingSince, payouts }: Notification): string[] {
  if (run === null) return [];
  const counts = OUTCOMES.filter((outcome) => (run.outcomes[outcome] ?? 0) > 0);
  const totals = run.totals.map((total) => {
    const parts = counts.filter((outcome) => /[1-9]/.test(total[outcome] ?? ''));
    return `total     ${total.currency} ${total.file}: ${parts.map((part) => `${total[part]} ${part}`).join(', ')}`;
  });
  return [
    `file      ${run.file.name}, ${run.file.rows} rows`,
    `state     ${run.state}`,
    `outcomes  ${counts.map((outcome) => `${run.outcomes[outcome]} ${outcome}`).join(', ')}`,
    ...totals,
    ...(payouts === null ? [] : [`new       ${payouts.new}`]),
    ...(waitingSince === null ? [] : [`waits     since ${waitingSince}`]),
  ];
}

function otherLines({ payout, reason, refused, disks, auditHead }: Notification): string[] {
  const problems = refused?.problems.slice(0, PROBLEMS_SHOWN_MAX) ?? [];
  return [
    ...(payout === null ? [] : [`run       ${placeOfId(payout.id).runId}`, `line      ${payout.line}`]),
    ...(reason === null ? [] : [`reason    ${reason}`]),
    ...(refused === null ? [] : [`file      ${refused.file.name}, ${refused.file.rows} rows`]),
    ...problems.map(({ code, count }) => `problem   ${code}, ${count} times`),
    ...(disks ?? []).map(({ folder, freeBytes, freeBytesMin }) => {
      return `disk      ${folder}: ${freeBytes} bytes are free, less than ${freeBytesMin}`;
    }),
    ...(auditHead === null ? [] : [`audit log ${auditHead}`]),
  ];
}
