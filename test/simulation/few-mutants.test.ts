import { expect, test } from 'vitest';
import { MUTANTS } from './mutants.ts';
import { testMutants } from './notice-mutants.ts';

/** Guards against a second payment, each noticed within some hundred schedules. */
const FEW: readonly string[] = [
  'an arming compares neither version nor state',
  'a closed season is not looked at when arming',
  'the arming counter is not compared',
  'the intent line is written after the request has left',
  'a "not found" is believed before the quote has ended',
  'a time-out goes straight to a new quote',
  'one person is enough',
];

const mutants = MUTANTS.filter(({ name }) => FEW.includes(name));

testMutants(mutants);

test('each of these mutants is there', () => {
  expect(mutants.map(({ name }) => name).toSorted()).toEqual(FEW.toSorted());
});
