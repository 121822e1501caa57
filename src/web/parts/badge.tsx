import type { ComponentChildren } from 'preact';

/** How something stands: done well, under way, wanting somebody, gone wrong, or none of these. */
export type Tone = 'good' | 'busy' | 'wait' | 'bad' | 'still';

/** A status: a colour, and words that say the same without it. */
export function Badge({ tone, children }: { tone: Tone; children: ComponentChildren }) {
  return (
    <span class={`badge tone-${tone}`}>
      <span class="dot" />
      {children}
    </span>
  );
}
