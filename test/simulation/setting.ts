import type { Checks } from './checks.ts';
import type { Mutation } from './mutation.ts';
import type { Fault, Plan } from './plan.ts';
import type { FakeRedis } from './redis.ts';
import type { FakeService } from './service.ts';
import type { SimulatedFile } from './submission.ts';
import type { World } from './world.ts';

/** What everything in a schedule shares. */
export interface Setting {
  readonly world: World;
  readonly plan: Plan;
  /** Each is handed in, the first one at once. */
  readonly files: readonly SimulatedFile[];
  readonly redis: FakeRedis;
  readonly service: FakeService;
  readonly checks: Checks;
  readonly mutation: Mutation;
  /** No fault happens any more. */
  readonly isCalm: () => boolean;
  /** Whether the schedule has a kind of fault, and it may happen now. */
  readonly hasFault: (name: Fault) => boolean;
}
