import { shownCount } from './figures.ts';

/** Where a page of a list leads to; what is absent has no link. */
interface PagesProps {
  readonly before?: PageLink | undefined;
  readonly after?: PageLink | undefined;
  /** Of a list whose pages are counted, from 1. */
  readonly place?: { readonly page: number; readonly pages: number };
}

interface PageLink {
  readonly href: string;
  readonly words: string;
}

/** The way through a list that has more than one page; nothing for one that has no other. */
export function Pages({ before, after, place }: PagesProps) {
  if (before === undefined && after === undefined) return null;
  return (
    <nav class="d-flex gap-3 py-2" aria-label="Pages">
      {before === undefined ? null : (
        <a rel="prev" href={before.href}>
          {before.words}
        </a>
      )}
      {place === undefined ? null : (
        <span>
          Page {shownCount(place.page)} of {shownCount(place.pages)}
        </span>
      )}
      {after === undefined ? null : (
        <a rel="next" href={after.href}>
          {after.words}
        </a>
      )}
    </nav>
  );
}

interface CountedProps {
  readonly page: number;
  readonly pages: number;
  readonly hrefOf: (page: number) => string;
  readonly words?: { readonly before: string; readonly after: string };
}

/** The same for a list whose pages are counted; of many, any one can be named. */
export function CountedPages({ page, pages, hrefOf, words = COUNTED }: CountedProps) {
  return (
    <>
      <Pages
        place={{ page, pages }}
        before={page > 1 ? { href: hrefOf(page - 1), words: words.before } : undefined}
        after={page < pages ? { href: hrefOf(page + 1), words: words.after } : undefined}
      />
      {pages > JUMPS_FROM ? <Jump page={page} pages={pages} href={hrefOf(1)} /> : null}
    </>
  );
}

/** With so many pages, one by one is enough. */
const JUMPS_FROM = 3;

function Jump({ page, pages, href }: { page: number; pages: number; href: string }) {
  const { pathname, searchParams } = new URL(href, 'http://page');
  searchParams.delete('page');
  return (
    <form method="get" action={pathname} class="d-flex gap-2 py-2">
      {[...searchParams].map(([name, value]) => (
        <input key={name} type="hidden" name={name} value={value} />
      ))}
      <input
        type="number"
        class="form-control w-auto"
        name="page"
        aria-label="Page"
        min={1}
        max={pages}
        value={page}
        required
      />
      <button type="submit" class="btn">
        Go to page
      </button>
    </form>
  );
}

const COUNTED = { before: 'Previous page', after: 'Next page' };
