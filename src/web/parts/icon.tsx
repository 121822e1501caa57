/** The icons of the pages; the build puts them into one picture (.ci/look.mjs), each under its name. */
const ICONS = [
  'alert-triangle',
  'arrow-back-up',
  'calendar-clock',
  'cash-banknote',
  'check',
  'checklist',
  'chevron-down',
  'circle-check',
  'circle-x',
  'download',
  'file-export',
  'folder-x',
  'info-circle',
  'player-pause',
  'player-play',
  'upload',
  'user',
  'user-question',
] as const;

export type IconName = (typeof ICONS)[number];

/** A picture beside words that say the same; nobody hears it. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg
      class="icon flex-shrink-0"
      aria-hidden="true"
      viewBox="0 0 24 24"
      fill="none"
      stroke="currentColor"
      stroke-linecap="round"
      stroke-linejoin="round"
    >
      <use href={`/static/look/icons.svg#${name}`} />
    </svg>
  );
}
