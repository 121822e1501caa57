import type { ComponentChildren } from 'preact';

interface TableProps {
  readonly caption: ComponentChildren;
  /** Their heads; a number's stands at the right, as its cells do. */
  readonly columns: readonly (string | { readonly number: string })[];
  readonly class?: string;
  /** Nothing in it takes the focus, so that its place does: keys scroll it where it is too wide. */
  readonly hasNoLinks?: boolean;
  /** The lines of its body. */
  readonly children: ComponentChildren;
}

/** A table with a caption and a head to each column; one that is too wide is scrolled in its own place. */
export function Table({ caption, columns, children, class: own = '', hasNoLinks = false }: TableProps) {
  return (
    <div class="card scroll" {...(hasNoLinks ? { tabIndex: 0 } : {})}>
      <table class={`table table-vcenter card-table ${own}`.trim()}>
        <caption>{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) =>
              typeof column === 'string' ? (
                <th key={column} scope="col">
                  {column}
                </th>
              ) : (
                <th key={column.number} scope="col" class="number">
                  {column.number}
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
