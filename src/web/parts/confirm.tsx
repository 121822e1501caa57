import type { ComponentChildren } from 'preact';
import { Form } from './form.tsx';
import { useRefusal } from './refused-context.ts';

interface ConfirmProps {
  readonly action: string;
  /** Tells it from others of the page that go to the same address. */
  readonly name?: string;
  /** What the button does, such as `Discard`. */
  readonly words: string;
  /** What it is done to, for who listens instead of looking. */
  readonly whom?: string;
  /** What comes of it. */
  readonly question: string;
  readonly children?: ComponentChildren;
}

/** A form that is shown by a first step and sent by a second one, without scripts too. */
export function Confirm({ action, name, words, whom, question, children }: ConfirmProps) {
  const label = whom === undefined ? {} : { 'aria-label': `${words} ${whom}` };
  return (
    <details class="confirm" open={useRefusal({ action, name }) !== null}>
      <summary {...(whom === undefined ? {} : { 'aria-label': `${words} ${whom}…` })}>{words}…</summary>
      <Form action={action} name={name}>
        {children}
        <p>{question}</p>
        <button type="submit" class="btn btn-outline-danger" {...label}>
          {words}
        </button>
      </Form>
    </details>
  );
}
