import { testRandomActs } from './play.ts';

// With one host and with two; likely duplicates, limits and approvals on and off.
testRandomActs([38, 51, 114, 117, 120], { atOnce: 3 });
