import { describe, expect, test } from 'vitest';
import { type Answer, notSent } from '../../src/service/answer.ts';
import { openAnswering } from '../../src/service/answering.ts';
import { answered, lost } from '../pay/examples.ts';

const BEGAN = Date.UTC(2026, 3, 1);

/** A client and the time, which a test moves. */
function openRig() {
  let at = 0;
  const answering = openAnswering({ monotonic: () => at, now: () => BEGAN + at });
  return {
    awaySince: () => answering.awaySince(),
    begin: () => answering.begin(),
    move: (ms: number) => void (at += ms),
    ask: (answer: Answer) => answering.begin()(answer),
  };
}

describe('a service is away', () => {
  test.each<[string, Answer]>([
    ['takes no connection', notSent('ECONNREFUSED')],
    ['breaks off', lost('reset')],
    ['answers 503', answered(503)],
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

test('another web server at the address of the service is no answer of it', () => {
  const rig = openRig();
  rig.begin()(answered(404), true);
  rig.move(2000);
  expect(rig.awaySince()).toBe(BEGAN);
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
