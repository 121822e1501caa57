import { type ComponentChildren, cloneElement, createContext, isValidElement, toChildArray } from 'preact';
import { useContext } from 'preact/hooks';

/** A link that sorts by a column, and how it is sorted now. */
interface SortLink {
  readonly href: string;
  readonly order: 'ascending' | 'descending' | undefined;
}

type Column =
  | string
  | { readonly text: string; readonly sorts: SortLink | undefined }
  | { readonly number: string; readonly sorts?: SortLink | undefined };

interface TableProps {
  readonly caption: ComponentChildren;
  /** Their heads; a number's stands at the right, as its cells do. */
  readonly columns: readonly Column[];
  readonly class?: string;
  /** Nothing in it takes the focus, so that its place does: keys scroll it where it is too wide. */
  readonly hasNoLinks?: boolean;
  /** The lines of its body. */
  readonly children: ComponentChildren;
}

const ColumnsContext = createContext<readonly Column[]>([]);

/**
 * A table with a caption and a head to each column. On a phone its lines are cards; elsewhere one that is too wide is scrolled in
 * its own place.
 */
export function Table({ caption, columns, children, class: own = '', hasNoLinks = false }: TableProps) {
  return (
    <div class="card scroll" {...(hasNoLinks ? { tabIndex: 0 } : {})}>
      <table class={`table table-vcenter card-table stacked ${own}`.trim()}>
        <caption>{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <Head key={nameOf(column)} column={column} />
            ))}
          </tr>
        </thead>
        <tbody>
          <ColumnsContext.Provider value={columns}>{labelledLines(children, columns)}</ColumnsContext.Provider>
        </tbody>
      </table>
    </div>
  );
}

function nameOf(column: Column): string {
  if (typeof column === 'string') return column;
  return 'number' in column ? column.number : column.text;
}

function Head({ column }: { column: Column }) {
  const sorts = typeof column === 'string' ? undefined : column.sorts;
  const isNumber = typeof column !== 'string' && 'number' in column;
  return (
    <th scope="col" {...(isNumber ? { class: 'number' } : {})} {...(sorts?.order ? { 'aria-sort': sorts.order } : {})}>
      {sorts === undefined ? nameOf(column) : <a href={sorts.href}>{nameOf(column)}</a>}
    </th>
  );
}

/** Links that sort a list by its columns: up at first, or down; and the other way where it is sorted by that one already. */
export type SortLinks<Named extends string> = (column: Named, first?: 'up' | 'down') => SortLink | undefined;

export function sortLinks<Named extends string>(
  sort: string,
  hrefOf: (sort: Named | `-${Named}`) => string,
): SortLinks<Named> {
  return (column, first = 'up') => {
    const isUp = sort === column;
    const isDown = sort === `-${column}`;
    const goesDown = isUp || (!isDown && first === 'down');
    return {
      href: hrefOf(goesDown ? `-${column}` : column),
      order: isUp ? 'ascending' : isDown ? 'descending' : undefined,
    };
  };
}

/** A line of a table that a component of its own makes, as `Table` makes those that are given to it. */
export function Line({ children, class: own }: { readonly children: ComponentChildren; readonly class?: string }) {
  const columns = useContext(ColumnsContext);
  return <tr class={own}>{labelledCells(children, columns)}</tr>;
}

function labelledLines(lines: ComponentChildren, columns: readonly Column[]): ComponentChildren {
  return toChildArray(lines).map((line) => {
    if (!isValidElement(line) || line.type !== 'tr') return line;
    return cloneElement(line, {}, labelledCells(line.props.children, columns));
  });
}

/** Each cell but the one that heads the line has the head of its column with it, for cards. */
function labelledCells(cells: ComponentChildren, columns: readonly Column[]): ComponentChildren {
  return toChildArray(cells).map((cell, at) => {
    const column = columns[at];
    if (!isValidElement(cell) || cell.type !== 'td' || column === undefined) return cell;
    return cloneElement(cell, { 'data-label': nameOf(column) });
  });
}
