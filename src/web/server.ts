import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import cookie from '@fastify/cookie';
import helmet from '@fastify/helmet';
import multipart from '@fastify/multipart';
import files from '@fastify/static';
import { fastify } from 'fastify';
import { serializerCompiler, validatorCompiler, type ZodTypeProvider } from 'fastify-type-provider-zod';
import type { WebSettings } from '../config/web.ts';
import { openFindRows } from '../runs/find-rows.ts';
import { isRunId } from '../runs/hand-in/run-id.ts';
import { openFindRuns } from '../runs/search/run-search.ts';
import { openSearch } from '../runs/search/search.ts';
import { openZone } from '../zone.ts';
import { addAwaitedFactor } from './account/awaited-factor.ts';
import { addFactorPages, addPasskeyRoutes } from './account/factor-routes.ts';
import { addSessionPages } from './account/session-routes.ts';
import { addApi } from './api/api.ts';
import { addAuditPages } from './audit/routes.ts';
import { answerFaults } from './faults.ts';
import { guardRoutes } from './guard.ts';
import { addInboxPages } from './inbox/routes.ts';
import { limitConnections } from './limits/connections.ts';
import { WEB_LIMITS, type WebLimits } from './limits/limits.ts';
import { limitBodies } from './limits/slow-bodies.ts';
import { addNotificationPages } from './notifications/routes.ts';
import { addOidcPages } from './oidc/routes.ts';
import { addOperations } from './operations/routes.ts';
import { addPayoutPages } from './payouts/routes.ts';
import { addPeoplePages } from './people/routes.ts';
import { addPeriodPages } from './period/routes.ts';
import { Problem } from './problem.ts';
import { openRecentRuns } from './recent-runs.ts';
import { addReconcilePages } from './reconcile/routes.ts';
import { ofRun } from './run/find-run.ts';
import { addRunPages } from './run/routes.ts';
import { addSchedulePages } from './schedules/routes.ts';
import { addSearchPage } from './search/routes.ts';
import { addSettingsPages } from './settings/routes.ts';
import { addBlockListPages } from './settle/block-routes.ts';
import { addBulkPages } from './settle/bulk-routes.ts';
import { addSettlePages } from './settle/routes.ts';
import { addTodayPage } from './today/routes.tsx';
import { addUploadPages } from './uploads/routes.ts';
import type { Web, WebDeps, WebParts } from './web.ts';

const BODY_BYTES_MAX = 64 * 1024;
const IDLE_MS_MAX = 30_000;
/** How often it is looked whether headers come in time. */
const HEADERS_LOOK_MS = 1000;
/** Longer ones never come through node's limit of all headers. */
const URL_CHARACTERS_MAX = 16 * 1024;
const STATIC_S = 3600;
const HSTS_S = 365 * 24 * 3600;

/**
 * The web app, not listening yet. Whoever closes it has all requests answered first; streams of live progress end at once.
 */
export async function openWeb(parts: WebParts): Promise<Web> {
  const { app, settings } = parts;
  const deps = depsOf(parts);
  const limits = { ...WEB_LIMITS, ...deps.limits };
  const web: Web = fastify({
    logger: false,
    genReqId: () => app.random.uuid(),
    trustProxy: settings.proxies.length > 0 ? [...settings.proxies] : false,
    bodyLimit: BODY_BYTES_MAX,
    requestTimeout: limits.requestMsMax,
    connectionTimeout: 0,
    keepAliveTimeout: IDLE_MS_MAX,
    http: timesOf(limits),
    forceCloseConnections: true,
    rewriteUrl: ({ url = '/' }) => readableUrl(url),
    routerOptions: { ignoreTrailingSlash: false, caseSensitive: true, maxParamLength: URL_CHARACTERS_MAX },
    ...(settings.tls === null ? {} : { https: { ...timesOf(limits), ...httpsOptions(settings.tls, limits) } }),
  }).withTypeProvider<ZodTypeProvider>();
  web.setValidatorCompiler(validatorCompiler);
  web.setSerializerCompiler(serializerCompiler);
  readForms(web);
  answerFaults(web, deps);
  const isHttps = settings.tls !== null;
  await addPlugins(web, isHttps);
  limitBodies(web, limits);
  guardRoutes(web, deps);
  limitConnections(web, { clock: app.clock, limits, proxies: settings.proxies });
  logRequests(web, deps);
  await web.register(files, {
    root: fileURLToPath(new URL('./static/', import.meta.url)),
    prefix: '/static/',
    index: false,
    maxAge: STATIC_S * 1000,
    decorateReply: false,
    wildcard: false,
    preCompressed: true,
    globIgnore: ['**/*.br', '**/*.gz'],
  });
  addTodayPage(web, deps);
  addRunPages(web, deps);
  addPeriodPages(web, deps);
  addReconcilePages(web, deps);
  addPayoutPages(web, deps);
  addSearchPage(web, deps);
  addSettlePages(web, deps);
  addBulkPages(web, deps);
  addBlockListPages(web, deps);
  addUploadPages(web, deps);
  addPeoplePages(web, deps);
  addSessionPages(web, deps);
  addAwaitedFactor(web, deps);
  addFactorPages(web, deps);
  addPasskeyRoutes(web, deps);
  addOidcPages(web, deps);
  addAuditPages(web, deps);
  addSchedulePages(web, deps);
  addSettingsPages(web, deps);
  addInboxPages(web, deps);
  addNotificationPages(web, deps);
  await addOperations(web, deps);
  await addApi(web, deps);
  return web;
}

function depsOf(parts: WebParts): WebDeps {
  const { app } = parts;
  const zone = openZone(app.config.limits?.zone ?? 'UTC');
  return {
    ...parts,
    recentRuns: openRecentRuns(app.ledger.runs),
    search: openSearch(app),
    findRuns: openFindRuns(app.ledger, zone),
    findRows: openFindRows(app),
    zone,
  };
}

async function addPlugins(web: Web, isHttps: boolean): Promise<void> {
  await web.register(cookie);
  await web.register(multipart, { throwFileSizeLimit: true });
  await web.register(helmet, {
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'none'"],
        scriptSrc: ["'self'"],
        styleSrc: ["'self'"],
        fontSrc: ["'self'"],
        imgSrc: ["'self'"],
        connectSrc: ["'self'"],
        formAction: ["'self'"],
        frameAncestors: ["'none'"],
        baseUri: ["'none'"],
      },
    },
    referrerPolicy: { policy: 'same-origin' },
    xFrameOptions: { action: 'deny' },
    strictTransportSecurity: isHttps ? { maxAge: HSTS_S } : false,
  });
  web.addHook('onRequest', async (request, reply) => {
    if (!request.routeOptions.url?.startsWith('/static/')) reply.header('cache-control', 'no-store');
  });
  // Nobody reads what a HEAD would stream.
  web.addHook('onSend', async (request, _reply, payload) => {
    if (request.method !== 'HEAD' || !(payload instanceof Readable)) return payload;
    payload.destroy();
    return Readable.from([]);
  });
}

/** An address whose path has signs % that escape nothing means those signs: it leads nowhere by the way of all addresses. */
function readableUrl(url: string): string {
  const [path = ''] = url.split('?', 1);
  try {
    decodeURI(path);
    return url;
  } catch {
    return `${path.replaceAll('%', '%25')}${url.slice(path.length)}`;
  }
}

function httpsOptions({ certificate, key }: NonNullable<WebSettings['tls']>, { handshakeMsMax }: WebLimits) {
  return { cert: certificate, key, handshakeTimeout: handshakeMsMax };
}

function timesOf({ headersMsMax }: WebLimits) {
  return { headersTimeout: headersMsMax, connectionsCheckingInterval: HEADERS_LOOK_MS };
}

/** Forms of pages, as one text for each name; of several under one name the last one counts. Pages take nothing else. */
function readForms(web: Web): void {
  web.removeContentTypeParser(['application/json', 'text/plain']);
  web.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: BODY_BYTES_MAX },
    (_request, body, done) => {
      const fields = new URLSearchParams(String(body));
      if (fields.has('__proto__')) done(new Problem(400, 'The form names __proto__.', 'Send it from its page.'));
      else done(null, Object.fromEntries(fields));
    },
  );
}

/** The run that a path is about; nothing that only stands where a run's id should. */
function runOf(params: unknown): { run?: string } {
  const { run } = ofRun.params.safeParse(params).data ?? {};
  return run !== undefined && isRunId(run) ? { run } : {};
}

/** The path of the route is logged, never the address as it came: it may hold references. */
function logRequests(web: Web, { app }: WebDeps): void {
  web.addHook('onResponse', async (request, reply) => {
    app.log.info('request', {
      request: request.id,
      ...runOf(request.params),
      operation: `${request.method} ${request.routeOptions.url ?? 'none'}`,
      status: reply.statusCode,
      ms: Math.round(reply.elapsedTime),
      ...(request.who === null ? {} : { actor: request.who.name }),
    });
  });
}
