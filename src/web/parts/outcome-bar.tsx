import { OUTCOMES, type Outcome } from '../../payout.ts';
import { shownCount } from './figures.ts';

interface BarProps {
  readonly outcomes: Readonly<Record<Outcome, number>>;
  /** Where the rows of one outcome are listed. */
  readonly hrefOf: (outcome: Outcome) => string;
}

/** Outcomes as a bar with one part each, and as a list of links with their counts. */
export function OutcomeBar({ outcomes, hrefOf }: BarProps) {
  const shown = OUTCOMES.filter((outcome) => outcomes[outcome] > 0);
  return (
    <div class="outcomes">
      <svg class="bar" viewBox="0 0 1000 20" preserveAspectRatio="none" aria-hidden="true">
        {barParts(outcomes).map(({ outcome, x, width }) => (
          <rect key={outcome} class={outcome} x={x} y="0" width={width} height="20" />
        ))}
      </svg>
      <ul>
        {shown.map((outcome) => (
          <li key={outcome} class={outcome}>
            <a href={hrefOf(outcome)}>
              <b>{shownCount(outcomes[outcome])}</b> {outcome}
            </a>
          </li>
        ))}
      </ul>
    </div>
  );
}

const BAR_WIDTH = 1000;

function barParts(outcomes: Readonly<Record<Outcome, number>>) {
  const rows = OUTCOMES.reduce((sum, outcome) => sum + outcomes[outcome], 0);
  let before = 0;
  return OUTCOMES.filter((outcome) => outcomes[outcome] > 0).map((outcome) => {
    const x = Math.round((before / rows) * BAR_WIDTH);
    before += outcomes[outcome];
    return { outcome, x, width: Math.round((before / rows) * BAR_WIDTH) - x };
  });
}
