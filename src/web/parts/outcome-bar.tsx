import { scaleLinear } from 'd3-scale';
import { stack } from 'd3-shape';
import type { Outcome } from '../../payout.ts';
import { shownCount } from './figures.ts';
import { OUTCOME_WORDS } from './outcome-words.ts';

/** What is done well comes first, what went wrong last. */
const ORDER: readonly Outcome[] = [
  'paid',
  'pending',
  'unknown',
  'waiting',
  'held',
  'returned',
  'failed',
  'rejected',
  'refused',
  'cancelled',
];

interface BarProps {
  readonly outcomes: Readonly<Record<Outcome, number>>;
  /** Where the rows of one outcome are listed. */
  readonly hrefOf: (outcome: Outcome) => string;
}

/** Outcomes as a bar with one part each, and as a list of links with their counts. */
export function OutcomeBar({ outcomes, hrefOf }: BarProps) {
  const shown = ORDER.filter((outcome) => outcomes[outcome] > 0);
  return (
    <div class="outcomes">
      <Bar outcomes={outcomes} />
      <ul>
        {shown.map((outcome) => (
          <li key={outcome} class={outcome}>
            <a href={hrefOf(outcome)}>
              <b>{shownCount(outcomes[outcome])}</b> {OUTCOME_WORDS[outcome]}
            </a>
          </li>
        ))}
      </ul>
    </div>
  );
}

interface BarAloneProps extends Pick<BarProps, 'outcomes'> {
  /** How much an outcome has, in words; a count unless given. */
  readonly wordsOf?: (outcome: Outcome) => string;
}

/** The bar alone; who listens hears how much each outcome has. */
export function Bar({ outcomes, wordsOf = (outcome) => shownCount(outcomes[outcome]) }: BarAloneProps) {
  const parts = barParts(outcomes);
  const words = parts.map(({ outcome }) => `${wordsOf(outcome)} ${OUTCOME_WORDS[outcome]}`).join(', ');
  return (
    <svg
      class="bar"
      viewBox={`0 0 ${BAR_WIDTH} 20`}
      preserveAspectRatio="none"
      role="img"
      aria-label={words || 'no rows'}
    >
      {parts.map(({ outcome, x, width }) => (
        <rect key={outcome} class={outcome} x={x} y="0" width={width} height="20" />
      ))}
    </svg>
  );
}

const BAR_WIDTH = 1000;

function barParts(outcomes: BarProps['outcomes']) {
  const rows = ORDER.reduce((sum, outcome) => sum + outcomes[outcome], 0);
  const x = scaleLinear().domain([0, rows]).rangeRound([0, BAR_WIDTH]);
  return stack<BarProps['outcomes'], Outcome>()
    .keys(ORDER)([outcomes])
    .map(({ key, 0: [from, to] = [0, 0] }) => ({ outcome: key, x: x(from), width: x(to) - x(from) }))
    .filter(({ outcome }) => outcomes[outcome] > 0);
}
