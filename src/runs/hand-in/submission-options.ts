import type { Clock } from '../../clock.ts';
import type { RunStart } from '../../payout.ts';
import { Refusal, withSteps } from '../../refusal.ts';
import { startTimeOf } from '../../schedules/start-time.ts';
import type { BodyDefaults } from '../../service/bodies.ts';
import type { Service } from '../../service/client.ts';
import { previewCost } from '../preview/cost-preview.ts';
import type { SubmitDeps } from './submit.ts';

/** Whoever can be asked what a row costs. */
type Quoter = Pick<Service, 'quote'>;

/** When a run is to start; undefined: at once. Throws a Refusal for a time that cannot be. */
export function startOf(
  { at, zone }: { at?: string | undefined; zone?: string | undefined },
  clock: Clock,
): RunStart | undefined {
  if (at !== undefined) return at === 'schedule' ? at : startTimeOf(at, { zone, nowMs: clock.now() });
  if (zone === undefined) return undefined;
  throw new Refusal('--zone is for --at.', 'Name a time with --at.');
}

/** What submitRun asks for the cost of a row; needed only where its drift is limited. */
export function costPreviewOf(
  service: Quoter | undefined,
  { config, clock }: { config: BodyDefaults; clock: Clock },
): SubmitDeps['previewCost'] {
  return service === undefined ? undefined : (row) => previewCost({ service, defaults: config, clock }, row);
}

/** Without a service that can be asked, nothing could be compared, and the limit would be ignored. */
export function requireCostPreview(maxCostDriftBp: bigint | undefined, service: Quoter | undefined): void {
  if (maxCostDriftBp === undefined || service !== undefined) return;
  throw new Refusal(
    'To limit the drift of costs (--max-cost-drift), a payments service has to be configured.',
    withSteps`Set the five service settings, or use ${{ to: 'run-file' }}, which starts the simulated service first.`,
  );
}
