import type { FastifyReply } from 'fastify';
import type { ComponentChildren } from 'preact';
import { renderToString } from 'preact-render-to-string';
import { SANDBOX_NAME } from '../../config/config.ts';
import type { Zone } from '../../zone.ts';
import type { WebDeps } from '../web.ts';
import { ZoneContext } from './time.tsx';

interface PrintContent {
  readonly title: string;
  readonly body: ComponentChildren;
}

/** Answers with a page for paper: no menu, no form and no script. */
export function sendPrintPage(reply: FastifyReply, { app, zone }: WebDeps, content: PrintContent): FastifyReply {
  return reply.type('text/html; charset=utf-8').send(printPage(content, { zone, serviceName: app.serviceName }));
}

/** The page as HTML, whose styles lie below `/static/`. */
export function printPage(
  { title, body }: PrintContent,
  { zone, serviceName }: { readonly zone: Zone; readonly serviceName: string },
): string {
  const page = (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <title>{`${title} · payrun`}</title>
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light" />
        <link rel="stylesheet" href="/static/look/tabler.css" />
        <link rel="stylesheet" href="/static/payrun.css" />
        <link rel="icon" href="/static/icon.svg" type="image/svg+xml" />
      </head>
      <body class="printed">
        <main id="content" class="container-xl">
          <h1>{title}</h1>
          {serviceName === SANDBOX_NAME ? <p class="halt px-3 py-2 text-center">Sandbox: no money moved.</p> : null}
          <ZoneContext.Provider value={zone}>{body}</ZoneContext.Provider>
        </main>
      </body>
    </html>
  );
  return `<!doctype html>\n${renderToString(page)}`;
}
