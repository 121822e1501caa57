import { z } from 'zod';
import { sendPage } from '../parts/frame.tsx';
import type { Web, WebDeps } from '../web.ts';
import { SearchPage } from './search-page.tsx';

const wanted = { querystring: z.strictObject({ text: z.string().max(100).default('') }) };

/** What the search box of every page leads to. */
export function addSearchPage(web: Web, deps: WebDeps): void {
  web.get('/search', { config: { act: 'read' }, schema: wanted }, async (request, reply) => {
    const { text } = request.query;
    const body = SearchPage({ text, found: await deps.search(text) });
    return await sendPage(reply, deps, { title: 'Search', body });
  });
}
