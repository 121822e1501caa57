import { describe, expect, test } from 'vitest';
import { NO_WEB_SETTINGS, type WebSettings } from '../../src/config/web.ts';
import { requireSafeAddress } from '../../src/web/limits/hosts.ts';

const TLS: Partial<WebSettings> = { tls: { certificate: 'x', key: 'x' } };
const PROXY: Partial<WebSettings> = { proxies: ['10.0.0.1'] };

function listen(host: string, settings: Partial<WebSettings>): () => void {
  return () => requireSafeAddress({ host }, { ...NO_WEB_SETTINGS, ...settings });
}

describe('the web app', () => {
  test.each(['0.0.0.0', '::', '10.1.2.3', 'payrun.example.com', '127.0.0.1.example.com', 'localhost.example.com'])(
    'listens in plain HTTP for no other machine, unless a proxy stands before it: %s',
    (host) => {
      expect(listen(host, {})).toThrow(`Other machines would reach ${host} without encryption.`);
      expect(listen(host, TLS)).not.toThrow();
      expect(listen(host, PROXY)).not.toThrow();
    },
  );

  test.each(['localhost', '127.0.0.1', '127.9.9.9', '::1'])('listens in plain HTTP for this one: %s', (host) => {
    expect(listen(host, {})).not.toThrow();
  });
});
