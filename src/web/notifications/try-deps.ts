import { SANDBOX_NAME } from '../../config/config.ts';
import type { tryEndpoint } from '../../notify/try-endpoint.ts';
import type { WebDeps } from '../web.ts';

/** With what this process tries an endpoint: its own settings and certificates. */
export function tryDepsOf(app: WebDeps['app']): Parameters<typeof tryEndpoint>[0] {
  const { config, serviceName } = app;
  return {
    ...app,
    endpoints: config.notify.endpoints,
    origin: {
      environment: config.service?.environment ?? 'test',
      sandbox: serviceName === SANDBOX_NAME,
      auditHead: null,
    },
    certificates: config.service?.certificates,
  };
}
