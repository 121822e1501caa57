import { describe, expect, test } from 'vitest';
import { type Answer, answerOf, notSent } from '../../src/service/answer.ts';
import { openAnswering } from '../../src/service/answering.ts';
import type { Operation } from '../../src/service/client.ts';
import { isTokenAnswer, TokenUnavailable } from '../../src/service/token.ts';
import { refuseUnavailable } from '../../src/service/token-refusal.ts';
import { answered, lost, page } from '../pay/examples.ts';

const BEGAN = Date.UTC(2026, 3, 1);

/** A client and the time, which a test moves. */
function openRig() {
  let at = 0;
  const answering = openAnswering({ monotonic: () => at, now: () => BEGAN + at });
  return {
    awaySince: () => answering.away()?.since ?? null,
    away: () => answering.away(),
    begin: (operation: Operation = 'token') => answering.begin(operation),
    move: (ms: number) => void (at += ms),
    ask: (answer: Answer, operation: Operation = 'token') => answering.begin(operation)(answer),
  };
}

describe('a service is away', () => {
  test.each<[string, Answer]>([
    ['takes no connection', notSent('ECONNREFUSED')],
    ['breaks off', lost('reset')],
    ['answers 503', answered(503)],
    ['is behind a gateway that answers with a page', page(200)],
  ])('that %s for two seconds, since its first failure, until it answers', (_what, failure) => {
    const rig = openRig();
    rig.move(500);
    rig.ask(failure);
    rig.move(1900);
    rig.ask(failure);
    expect(rig.awaySince()).toBeNull();
    rig.move(200);
    expect(rig.awaySince()).toBe(BEGAN + 500);
    rig.ask(answered(404));
    expect(rig.awaySince()).toBeNull();
  });

  test('that takes requests and says nothing for four seconds', () => {
    const rig = openRig();
    const end = rig.begin();
    rig.move(3900);
    expect(rig.awaySince()).toBeNull();
    rig.move(200);
    expect(rig.awaySince()).toBe(BEGAN);
    end(answered(200));
    expect(rig.awaySince()).toBeNull();
  });
});

test('a service that falls silent while several requests are under way is away since its last answer', () => {
  const rig = openRig();
  rig.begin();
  rig.move(100);
  const answered100 = rig.begin();
  rig.move(100);
  answered100(answered(200));
  rig.move(3900);
  expect(rig.awaySince()).toBeNull();
  rig.move(200);
  expect(rig.awaySince()).toBe(BEGAN + 200);
});

describe('a service that answers all but its payments', () => {
  test('is told of once they failed for two seconds, and until one is answered', () => {
    const rig = openRig();
    rig.ask(answered(503), 'payment');
    rig.move(1900);
    rig.ask(answered(503), 'payment');
    rig.ask(answered(404), 'look-up');
    expect(rig.away()).toBeNull();
    rig.move(200);
    rig.ask(answered(503), 'payment');
    rig.ask(answered(201), 'quote');
    expect(rig.away()).toEqual({ since: BEGAN, operation: 'payment', fault: 'HTTP 503' });
    rig.ask(answered(201), 'payment');
    expect(rig.away()).toBeNull();
  });

  test('is not told of for one failure, nor half a minute after the last one', () => {
    const rig = openRig();
    rig.ask(lost('reset'), 'payment');
    rig.ask(answered(404), 'look-up');
    rig.move(3000);
    expect(rig.away()).toBeNull();
    rig.ask(lost('reset'), 'payment');
    rig.ask(answered(404), 'look-up');
    expect(rig.away()).toEqual({ since: BEGAN, operation: 'payment', fault: 'reset' });
    rig.move(30_000);
    expect(rig.away()).toBeNull();
  });

  test('is told of where they wait for four seconds', () => {
    const rig = openRig();
    rig.begin('payment');
    rig.move(4000);
    rig.ask(answered(200), 'look-up');
    expect(rig.away()).toEqual({ since: BEGAN, operation: 'payment', fault: null });
  });
});

test.each([
  ['<html>', true],
  ['\r\n <?xml version="1.0"?>', true],
  ['Bad Request', undefined],
  ['', undefined],
  ['{"a":"<html>"}', undefined],
])('whether an answer is a page shows at its beginning: %j', (body, isPage) => {
  const answer = answerOf(400, {}, Buffer.from(body));
  expect(answer.kind === 'answered' ? answer.isPage : null).toBe(isPage);
});

test('another web server at the address of the service is no answer of it', () => {
  const rig = openRig();
  rig.begin()(answered(404), true);
  rig.move(2000);
  expect(rig.awaySince()).toBe(BEGAN);
});

test.each([
  [200, { access_token: 'a' }, true],
  [401, {}, true],
  [429, {}, true],
  [404, {}, false],
  [200, null, false],
])(
  'an answer with status %i and %j to the request for a token is one of a payments service: %s',
  (status, json, isOne) => {
    expect(isTokenAnswer({ ...answered(status), json } as Answer)).toBe(isOne);
  },
);

function refusal(reason: string): string {
  return refuseUnavailable(new TokenUnavailable(reason), '').message;
}

test('a service that only asks to wait is not called a stranger', () => {
  expect(refusal('HTTP 429')).toMatch(/^The payments service cannot be reached/);
  expect(refusal('HTTP 404')).toMatch(/^What answers at PAYRUN_SERVICE_URL is no payments service/);
});

describe('a service is there', () => {
  test('that is slow with one request and answers others', () => {
    const rig = openRig();
    rig.begin();
    rig.move(3000);
    rig.ask(answered(200));
    rig.move(3000);
    expect(rig.awaySince()).toBeNull();
  });

  test.each(['closed', 'deadline', 'no token'])('whatever does not leave for a reason of ours: %s', (reason) => {
    const rig = openRig();
    rig.ask(notSent(reason));
    rig.move(10_000);
    expect(rig.awaySince()).toBeNull();
  });
});
