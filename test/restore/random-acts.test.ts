import { testRandomActs } from './play.ts';

/** How many seeds; RANDOM_ACTS_FROM is the first. */
const SEEDS = Number.parseInt(process.env['RANDOM_ACTS'] ?? '200', 10);
const FROM = Number.parseInt(process.env['RANDOM_ACTS_FROM'] ?? '1', 10);

testRandomActs(
  Array.from({ length: SEEDS }, (_, index) => FROM + index),
  { atOnce: 5 },
);
