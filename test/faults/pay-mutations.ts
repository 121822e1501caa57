import { type Mutation, named, replaced } from './mutation.ts';

const DEATH = 'src/pay/look-up/proof-of-death.ts';
const LOOK_UP = 'src/pay/look-up/look-up.ts';
const LOOK_UP_ANSWER = 'src/pay/look-up/look-up-answer.ts';
const SETTLE = 'src/pay/settle-answer.ts';
const ARM_AND_PAY = 'src/pay/arm-and-pay.ts';
const EXCHANGE = 'src/service/exchange.ts';

const DEATH_TESTS = 'test/pay/proof-of-death.test.ts';
const LOOK_UP_TESTS = 'test/pay/look-up.test.ts';
const ANSWER_TESTS = 'test/pay/look-up-answer.test.ts';
const PAY_TESTS = 'test/pay/pay-payout.test.ts';
const SENT_ONCE_TESTS = 'test/service/sent-once.test.ts';
const CHANGED_TESTS = 'test/pay/changed-records.test.ts';
const DECIDE_TESTS = 'test/runs/decide.test.ts';
const RECOVERY_TESTS = 'test/ledger/recovery.test.ts';

const NOT_FOUND = 'a not-found (architecture.md, rule 8)';
const NEVER_COUNTS = 'never counts, not as the first and not as the second';
const LINE_FIRST =
  'a payout that is ready is armed in the ledger and has its line in the intent log before the request arrives';

/** Rules 2 and 3 of the design, section 3. */
const SENDING: readonly Mutation[] = [
  {
    guard: 'an arming is written to the intent log',
    edits: replaced(ARM_AND_PAY, 'await writeIntent(deps, payout, { toPay, armed, body, counted })', 'true'),
    caughtBy: named(PAY_TESTS, LINE_FIRST),
    quick: true,
  },
  {
    guard: 'nothing is sent before the line is on disk',
    edits: replaced(
      ARM_AND_PAY,
      'await writeIntent(deps, payout, { toPay, armed, body, counted })',
      '(void writeIntent(deps, payout, { toPay, armed, body, counted }).catch(() => {}), true)',
    ),
    caughtBy: named(
      PAY_TESTS,
      'a request of which no byte left because the intent log cannot be written: ready again, nothing more is armed, and it goes on once the disk takes lines',
    ),
  },
  {
    guard: 'a line is synced',
    edits: replaced('src/ledger/intents/intent-log.ts', 'await file.datasync();', ''),
    caughtBy: named(
      'test/ledger/intent-log.test.ts',
      'an intent log syncs after it wrote and before it resolves, once for the lines of one turn',
    ),
  },
  {
    guard: 'an arming whose reply was lost counts as none',
    edits: replaced(
      ARM_AND_PAY,
      '    await doubtArming(deps, payout, quote.quoteId);\n    return undefined;',
      '    return { armed: true, version: payout.version + 1, counter: 1, armedAt: 0 };',
    ),
    caughtBy: named(
      PAY_TESTS,
      'a request of which no byte left because the reply to the arming was lost: it is doubted at once, looked up, and never sent',
    ),
  },
  {
    guard: 'the arm deadline begins before the arming',
    edits: replaced(
      ARM_AND_PAY,
      'await send(deps, body, sendBefore)',
      'await send(deps, body, deps.clock.monotonic() + deps.rules.armDeadlineMs)',
    ),
    caughtBy: named(
      PAY_TESTS,
      'a request of which no byte left because the arm deadline passed while the process was stopped',
    ),
  },
  {
    guard: 'the arm deadline is looked at when a request would be written',
    edits: replaced(EXCHANGE, ' || now >= sendBefore', ''),
    caughtBy: named(SENT_ONCE_TESTS, 'the arm deadline is looked at again immediately before the first byte'),
  },
  {
    guard: 'a request is written once, whatever the connection does',
    edits: replaced(
      EXCHANGE,
      `if (this.#controller !== undefined) return this.#giveUp(controller, 'would be sent twice');`,
      '',
    ),
    caughtBy: named(
      'test/service/exchange.test.ts',
      'a client that is about to write a request a second time is stopped, and nobody knows what came of the first',
    ),
  },
];

/** Rules 5 to 8 of the design, section 3. */
const DOUBTING: readonly Mutation[] = [
  {
    guard: 'what may have been sent is looked up before a new quote',
    edits: replaced(
      SETTLE,
      'await moveUnknown(deps, payout, { sent, reading });\n',
      `await putBack(deps, payout, { sent, reading: { kind: 'not-sent', reason: '', certificate: false }, isAgain });\n`,
    ),
    caughtBy: named(
      PAY_TESTS,
      'an answer that is not definite a reset makes it unknown (2xx seen: false); it is looked up and never sent again',
    ),
  },
  {
    guard: 'a not-found counts only when the quote is over',
    edits: replaced(DEATH, `if (!isQuoteOver(payout, { ...rules, date })) return 'early';`, ''),
    caughtBy: [
      ...named(DEATH_TESTS, `${NOT_FOUND} before the end of the quote is early`),
      ...named(
        LOOK_UP_TESTS,
        'a not-found before the end of the quote and the grace proves nothing, however often it comes',
      ),
    ],
    quick: true,
  },
  {
    guard: 'a quote is over by the date of the answer',
    edits: replaced(DEATH, 'date > quoteExpiresAt + quoteGraceMs && ', ''),
    caughtBy: named(DEATH_TESTS, `${NOT_FOUND} at the very end of the grace is early`),
  },
  {
    guard: 'a quote is over by the time that went by',
    edits: replaced(DEATH, ' && now - armedAt > lifeMs + quoteGraceMs', ''),
    caughtBy: named(
      DEATH_TESTS,
      `${NOT_FOUND} counts not while 'the life that the quote had is not ov…': a service that is ahead brings no proof forward`,
    ),
  },
  {
    guard: 'of two lives of a quote the longer counts',
    edits: replaced(
      DEATH,
      'Math.max(quoteLifeMs ?? 0, quoteExpiresAt - armedAt)',
      '(quoteLifeMs ?? quoteExpiresAt - armedAt)',
    ),
    caughtBy: named(
      DEATH_TESTS,
      `${NOT_FOUND} counts not while 'by Redis it cannot be over, however s…': a service that is ahead brings no proof forward`,
    ),
  },
  {
    guard: 'the difference of the clocks is added to the grace',
    edits: replaced('src/pay/look-up/proof-of-death.ts', ' + deps.service.clockDifferenceMs()', ''),
    caughtBy: named(
      LOOK_UP_TESTS,
      'a not-found counts only later by as much as the service is seen to be behind our own clock',
    ),
  },
  {
    guard: 'a not-found counts only while a payment that exists is found',
    edits: replaced(
      LOOK_UP,
      `if ((verdict === 'first' || verdict === 'dead') && !(await deps.canary.sings())) {`,
      'if (false) {',
    ),
    caughtBy: named(
      LOOK_UP_TESTS,
      'a not-found counts not as the first while a payment that exists is not found',
      'a not-found counts not as the second while a payment that exists is not found',
    ),
  },
  {
    guard: 'a quote is over only after the grace',
    edits: replaced(DEATH, 'date > quoteExpiresAt + quoteGraceMs', 'date > quoteExpiresAt'),
    caughtBy: named(DEATH_TESTS, `${NOT_FOUND} within the grace is early`),
  },
  {
    guard: 'one not-found is not enough',
    edits: replaced(DEATH, `return 'first';`, `return 'dead';`),
    caughtBy: named(DEATH_TESTS, `${NOT_FOUND} just after the grace is first`),
  },
  {
    guard: 'two not-founds lie a gap apart',
    edits: replaced(DEATH, `date - payout.notFoundAt >= rules.notFoundGapMs ? 'dead' : 'early'`, `'dead'`),
    caughtBy: named(DEATH_TESTS, `${NOT_FOUND} a little less than a gap later is early`),
  },
  {
    guard: 'a not-found under other credentials counts not',
    edits: replaced(DEATH, `if (payout.credentials !== rules.credentials) return 'early';`, ''),
    caughtBy: named(DEATH_TESTS, `${NOT_FOUND} under other credentials than the attempt ${NEVER_COUNTS}`),
  },
  {
    guard: 'a quote for which a 2xx was seen is never proven dead',
    edits: replaced(DEATH, '    !payout.seen2xx &&\n', ''),
    caughtBy: named(DEATH_TESTS, `${NOT_FOUND} after a 2xx was seen ${NEVER_COUNTS}`),
  },
  {
    guard: 'a 2xx is remembered',
    edits: replaced(SETTLE, `seen2xx ? { seen2xx } : {}`, '{}'),
    caughtBy: named(LOOK_UP_TESTS, 'a not-found after a 2xx was seen never proves anything'),
  },
  {
    guard: 'nothing is proven without each capability of the service',
    edits: replaced(DEATH, 'CAPABILITIES.every(', 'CAPABILITIES.some('),
    caughtBy: named(DEATH_TESTS, `${NOT_FOUND} without the capability expired-quote-refused ${NEVER_COUNTS}`),
  },
  {
    guard: 'nothing is proven by a capability that was seen not to hold',
    edits: replaced('src/pay/look-up/proof-of-death.ts', '!reading.disproved.includes(name)', 'true'),
    caughtBy: named(
      PAY_TESTS,
      'a payment under another id than its quote is accepted under that id, and no quote is proven dead any more',
    ),
  },
  {
    guard: 'a payout is tried for 24 hours at most',
    edits: replaced(DEATH, 'now - armedAt >= PAYOUT_TRIED_MS_MAX', 'false'),
    caughtBy: named(
      LOOK_UP_TESTS,
      'a payout that nothing can prove unpaid is held after 24 hours of trying, counted from its present request',
    ),
  },
  {
    guard: 'a look-up that shows another payment says nothing',
    edits: replaced(LOOK_UP_ANSWER, 'payment.paymentId !== paymentId', 'false'),
    caughtBy: named(ANSWER_TESTS, 'nothing is what a 200 with another payment says'),
  },
  {
    guard: 'a payment that is not ours is a breach',
    edits: replaced(LOOK_UP_ANSWER, 'evidence !== undefined', 'false'),
    caughtBy: named(ANSWER_TESTS, 'a breach is a 200 with our id and another beneficiary'),
  },
  {
    guard: 'a 404 of a gateway is no not-found',
    edits: replaced(LOOK_UP_ANSWER, 'code !== null && notFoundCodes.has(code)', 'true'),
    caughtBy: named(ANSWER_TESTS, "nothing is what a gateway's 404 says"),
  },
  {
    guard: 'a 404 in other words than those of the service is no not-found',
    edits: replaced(LOOK_UP_ANSWER, ' && notFoundCodes.has(code)', ''),
    caughtBy: named(ANSWER_TESTS, "nothing is what a gateway's 404 with a code of its own says"),
  },
  {
    guard: 'a refusal for good is looked up before it is believed',
    edits: replaced(SETTLE, `  if (reading.kind === 'found') {`, '  if (false) {'),
    caughtBy: named(PAY_TESTS, 'a final code of a payment that is found all the same is accepted, at once or later'),
  },
];

/** What a run and people are asked. */
const STOPPING: readonly Mutation[] = [
  {
    guard: 'a run with too many bad outcomes pauses itself',
    edits: replaced('src/pay/breaker.ts', 'answer.badOutcomes >= breaker.bad', 'false'),
    caughtBy: named(
      'test/pay/breaker.test.ts',
      'a run pauses itself and says why when too many of its last payments are unknown',
    ),
  },
  {
    guard: 'what a lost host may have sent is let go a day later',
    edits: replaced(
      'src/runs/decide/decision.ts',
      " || (decision === 'allow' && payout.reasonCode === 'E_DIR_LOST')",
      '',
    ),
    caughtBy: named(
      DECIDE_TESTS,
      'a held payout that a lost host may have sent is let go a day later, not while a request of that host may be under way',
    ),
  },
  {
    guard: 'what speaks against a decision is read before it is confirmed',
    edits: replaced('src/runs/decide/decide.ts', 'if (hasCaveats && !isRead(asked, digest))', 'if (false)'),
    caughtBy: named(
      DECIDE_TESTS,
      'a held payout that was sent is settled as not paid only by people who read that its payment may have another id',
    ),
  },
  {
    guard: 'a quote is armed again only under its seal',
    edits: replaced('src/pay/pay-payout.ts', "quote === 'true' ? undefined", 'true ? undefined'),
    caughtBy: named(
      CHANGED_TESTS,
      'somebody who writes to Redis does not have the quote of another payout paid: it is held, and everything is halted',
    ),
  },
  {
    guard: 'a run that was not being paid when it was read is not paid',
    edits: replaced('src/pay/pay-payout.ts', 'if (!order.mayArm)', 'if (false)'),
    caughtBy: named(
      CHANGED_TESTS,
      'somebody who writes to Redis has nothing armed by making a run look as if it were being paid after a worker has read it',
    ),
  },
  {
    guard: 'the block list that was verified counts',
    edits: replaced('src/pay/arm-and-pay.ts', 'if (deps.blockList.has(', 'if (false && deps.blockList.has('),
    caughtBy: named(
      CHANGED_TESTS,
      'somebody who writes to Redis does not get past a block by taking it out of Redis for a moment',
    ),
  },
  {
    guard: 'a former block list is not believed',
    edits: replaced('src/pay/known-block-list.ts', `version < seen.highest('blocked')`, 'false'),
    caughtBy: named(
      CHANGED_TESTS,
      'somebody who writes to Redis does not get past a block by putting a former list and its seal back',
    ),
  },
  {
    guard: 'a payout is decided by two people',
    edits: replaced('src/runs/decide/decide.ts', 'if (isSamePerson(proposal.by, asked.by))', 'if (false)'),
    caughtBy: named(DECIDE_TESTS, 'a held payout that was never sent is not let go by anna and "anna"'),
  },
  {
    guard: 'a lost ledger is adopted by two people',
    edits: replaced('src/ledger/season/recovery.ts', ': isSamePerson(by, actor)', ': false'),
    caughtBy: named(RECOVERY_TESTS, 'nothing is adopted by one person, who is anna and anna'),
  },
  {
    guard: 'a person with another spelling is no second one',
    edits: replaced('src/access/same-person.ts', 'foldedName(one) === foldedName(other)', 'one === other'),
    caughtBy: [
      ...named(DECIDE_TESTS, 'a held payout that was never sent is not let go by anna and "ANNA"'),
      ...named(RECOVERY_TESTS, 'nothing is adopted by one person, who is anna and Anna'),
    ],
  },
];

export const PAY_MUTATIONS: readonly Mutation[] = [...SENDING, ...DOUBTING, ...STOPPING];
