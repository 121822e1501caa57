import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { startAnsweringServer } from '../support/answering-server.ts';

/** An address at which nobody listens: a port that was free a moment ago may be taken by now, this one is never given out. */
export const REFUSING_URL = 'http://127.0.0.1:1';

/** An address whose certificate does not verify. */
export async function selfSignedUrl(): Promise<string> {
  const dir = mkdtempSync(join(tmpdir(), 'payrun-tls-'));
  const [key, cert] = [join(dir, 'key.pem'), join(dir, 'cert.pem')];
  const request = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '1'];
  execFileSync('openssl', [...request, '-subj', '/CN=127.0.0.1', '-keyout', key, '-out', cert], { stdio: 'ignore' });
  const server = await startAnsweringServer(() => {}, {
    key: readFileSync(key, 'utf8'),
    cert: readFileSync(cert, 'utf8'),
  });
  rmSync(dir, { recursive: true });
  onTestFinished(() => server.close());
  return server.url;
}
