import { escapeUnseen } from '../intake/problems/shown-value.ts';

/** The name that programs have for what was told in words, in a fold. */
export function Code({ code }: { code: string }) {
  return (
    <details class="small">
      <summary>Code</summary>
      <code>{escapeUnseen(code)}</code>
    </details>
  );
}
