import type { ComponentChildren } from 'preact';
import { Form } from './form.tsx';

interface ConfirmProps {
  readonly action: string;
  /** What the button does, such as `Discard`. */
  readonly words: string;
  /** What it is done to, for who listens instead of looking. */
  readonly whom?: string;
  /** What comes of it. */
  readonly question: string;
  readonly children?: ComponentChildren;
}

/** A form that is shown by a first step and sent by a second one, without scripts too. */
export function Confirm({ action, words, whom, question, children }: ConfirmProps) {
  const label = whom === undefined ? {} : { 'aria-label': `${words} ${whom}` };
  return (
    <details class="confirm">
      <summary {...(whom === undefined ? {} : { 'aria-label': `${words} ${whom}…` })}>{words}…</summary>
      <Form action={action}>
        {children}
        <p>{question}</p>
        <button type="submit" class="danger" {...label}>
          {words}
        </button>
      </Form>
    </details>
  );
}
