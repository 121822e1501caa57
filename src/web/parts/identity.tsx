import { rfc3339 } from '../../clock.ts';
import { escapeUnseen } from '../../intake/problems/shown-value.ts';
import type { ListedName } from '../../people/listed-name.ts';

/** Somebody whom the service knows: what the payer calls them, and below it their id. The title says how old the name is. */
export function Identity({ id, name }: { id: string; name: ListedName | null | undefined }) {
  if (name === null || name === undefined) return <code>{escapeUnseen(id)}</code>;
  return (
    <>
      <span title={`as the service listed it on ${rfc3339(name.listedAt).slice(0, 10)}`}>
        {escapeUnseen(name.name)}
      </span>{' '}
      <code class="d-block small">{escapeUnseen(id)}</code>
    </>
  );
}
