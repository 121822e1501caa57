import { BESIDE_PROOF_AND_RESUME_MUTATIONS } from './beside-proof-and-resume-mutations.ts';
import { BESIDE_QUOTE_MUTATIONS } from './beside-quote-mutations.ts';
import { HAND_IN_AND_SETTING_MUTATIONS } from './hand-in-and-setting-mutations.ts';
import { LATE_HOST_AND_FORGED_WORD_MUTATIONS } from './late-host-and-forged-word-mutations.ts';
import { LEDGER_MUTATIONS } from './ledger-mutations.ts';
import { LOST_HOST_AND_STOP_MUTATIONS } from './lost-host-and-stop-mutations.ts';
import { type Mutation, named, replaced } from './mutation.ts';
import { PAY_MUTATIONS } from './pay-mutations.ts';
import { REFERENCE_MUTATIONS } from './reference-mutations.ts';
import { RESTORE_MUTATIONS } from './restore-mutations.ts';
import { STOP_AND_KNOWN_PAYMENT_MUTATIONS } from './stop-and-known-payment-mutations.ts';
import { TOLD_AND_OVERTURNED_MUTATIONS } from './told-and-overturned-mutations.ts';
import { WRITE_OFF_MUTATIONS } from './write-off-mutations.ts';

const ARM_AND_PAY = 'src/pay/arm-and-pay.ts';
const EXCHANGE = 'src/service/exchange.ts';

/** A worker that sends twice to a service that pays twice: whether the oracle of the matrix sees what must never be. */
export const SENT_TWICE: Mutation = {
  guard: 'one send, and a service that pays a quote once',
  edits: [
    ...replaced(
      ARM_AND_PAY,
      '  return await deps.service.createPayment(body, { sendBefore });',
      '  await deps.service.createPayment(body, { sendBefore });\n  return await deps.service.createPayment(body, { sendBefore });',
    ),
    ...replaced('src/sandbox/faults/switches.ts', 'paysQuoteTwice: off.', 'paysQuoteTwice: z.boolean().default(true).'),
  ],
  caughtBy: named('test/faults/queue.test.ts', 'F9: all keys of the queue are deleted in the middle'),
  // A fault for each of its 80 rows.
  says: 'expected [ …(80) ] to deeply equal []',
};

/** Rows of the matrix itself, with whole processes (faults.md, F45). */
const MATRIX_MUTATIONS: readonly Mutation[] = [
  {
    guard: 'closed season',
    edits: replaced(
      'src/ledger/scripts/commit.ts',
      `if isElsewhere or isCopied or head[1] ~= server or redis.call('HGET', DIRS, ARGV[2]) ~= server then`,
      'if false then',
    ),
    caughtBy: named(
      'test/faults/rollback.test.ts',
      'F17: Redis is restored from an old copy under two workers, one stopped between arming and sending, which knows the directory of the stopped one',
    ),
  },
  {
    guard: 'look-up before a new quote',
    edits: replaced(
      'src/pay/settle-answer.ts',
      'await moveUnknown(deps, payout, { sent, reading });\n',
      `await putBack(deps, payout, { sent, reading: { kind: 'not-sent', reason: '', certificate: false }, isAgain });\n`,
    ),
    caughtBy: named(
      'test/pay/pay-payout.test.ts',
      'an answer that is not definite a reset makes it unknown (2xx seen: false); it is looked up and never sent again',
    ),
  },
  {
    guard: 'expiry gate',
    edits: replaced(
      'src/pay/look-up/proof-of-death.ts',
      `if (!isQuoteOver(payout, { ...rules, date })) return 'early';`,
      '',
    ),
    caughtBy: named(
      'test/faults/answers.test.ts',
      'F30: the payment is made late: after a reset or a time-out, and before the end of its quote',
    ),
  },
  {
    guard: 'arm deadline',
    edits: [
      ...replaced(ARM_AND_PAY, `if (deps.clock.monotonic() >= sendBefore) return notSent('deadline');`, ''),
      ...replaced(EXCHANGE, ' || now >= sendBefore', ''),
      ...replaced(EXCHANGE, 'limits.sendBefore - limits.clock.monotonic()', 'TIMER_MS_MAX'),
    ],
    caughtBy: named(
      'test/faults/process.test.ts',
      'F3: a worker stands still between arming and sending until another one has paid its payout with another quote',
    ),
  },
];

export const MUTATIONS: readonly Mutation[] = [
  ...LEDGER_MUTATIONS,
  ...RESTORE_MUTATIONS,
  ...TOLD_AND_OVERTURNED_MUTATIONS,
  ...WRITE_OFF_MUTATIONS,
  ...LATE_HOST_AND_FORGED_WORD_MUTATIONS,
  ...LOST_HOST_AND_STOP_MUTATIONS,
  ...STOP_AND_KNOWN_PAYMENT_MUTATIONS,
  ...REFERENCE_MUTATIONS,
  ...HAND_IN_AND_SETTING_MUTATIONS,
  ...BESIDE_QUOTE_MUTATIONS,
  ...BESIDE_PROOF_AND_RESUME_MUTATIONS,
  ...PAY_MUTATIONS,
  ...MATRIX_MUTATIONS,
];
