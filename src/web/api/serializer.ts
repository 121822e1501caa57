import { serializerCompiler } from 'fastify-type-provider-zod';
import { escapeControls } from '../../intake/spreadsheet-cell.ts';
import type { Web } from '../web.ts';

/** Replies are what their schemas say, as JSON that a terminal shows as it is. */
export function answerSafely(api: Web): void {
  api.setSerializerCompiler<Parameters<typeof serializerCompiler>[0]['schema']>((route) => {
    const serialize = serializerCompiler(route);
    return (data) => escapeControls(serialize(data));
  });
}
