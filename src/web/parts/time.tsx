import { createContext } from 'preact';
import { useContext } from 'preact/hooks';
import { rfc3339 } from '../../clock.ts';
import type { Zone } from '../../zone.ts';

/** The zone in which pages tell time where a browser has no script. */
export const ZoneContext = createContext<Zone | null>(null);

/**
 * A moment (milliseconds since 1970) in the zone of the settings, with UTC in its title; a browser with scripts shows it in
 * the reader's own zone.
 */
export function Time({ at }: { at: number }) {
  const zone = useContext(ZoneContext);
  const utc = utcText(at);
  if (zone === null || zone.name === 'UTC') return <time dateTime={rfc3339(at)}>{utc}</time>;
  return (
    <time dateTime={rfc3339(at)} title={utc}>
      {clockText(zone.wallAt(at))} {zone.name}
    </time>
  );
}

/** A moment in UTC, as titles have it. */
export function utcText(at: number): string {
  return `${clockText(at)} UTC`;
}

function clockText(at: number): string {
  const text = rfc3339(at);
  return `${text.slice(0, 10)} ${text.slice(11, 19)}`;
}

const MOMENT = /([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z)/;

/** A text in which each moment that stands in RFC 3339 is told like all others. */
export function WithTimes({ text }: { text: string }) {
  return text.split(MOMENT).map((part, at) => {
    const moment = at % 2 === 1 ? Date.parse(part) : Number.NaN;
    return Number.isNaN(moment) ? part : <Time key={`${part} ${text.indexOf(part)}`} at={moment} />;
  });
}
