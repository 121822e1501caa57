import { rfc3339 } from '../../clock.ts';

/** A moment, in UTC; a browser with scripts shows it in the reader's own zone, with UTC in its title. */
export function Time({ at }: { at: number }) {
  const text = rfc3339(at);
  return <time dateTime={text}>{`${text.slice(0, 10)} ${text.slice(11, 19)} UTC`}</time>;
}
