import { testRandomActs } from './play.ts';

// With one host and with two; likely duplicates, limits and approvals on and off.
testRandomActs([18, 29, 38, 51, 52], { atOnce: 3 });
