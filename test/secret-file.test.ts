import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { readConfig } from '../src/config/config.ts';
import { webSetting } from '../src/config/web.ts';
import { readSecretFile } from '../src/secret-file.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'payrun-secret-'));
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

const CANARY = 'canary';

function fileWith(mode: number): string {
  const path = join(folder, `secret-${mode.toString(8)}`);
  writeFileSync(path, CANARY);
  chmodSync(path, mode);
  return path;
}

test.each([0o600, 0o400, 0o700])('a secret is read from a file of its owner alone: mode %o', (mode) => {
  expect(readSecretFile(fileWith(mode))).toEqual({ text: CANARY });
});

test.each([0o644, 0o640, 0o660, 0o604, 0o602, 0o601, 0o777])(
  'and from none that others may read or write: mode %o',
  (mode) => {
    expect(readSecretFile(fileWith(mode))).toEqual({ problem: expect.stringContaining('chmod 600') });
  },
);

test('a file that is not there is told without its path', () => {
  expect(readSecretFile(join(folder, CANARY))).toEqual({ problem: expect.not.stringContaining(CANARY) });
});

test.each([
  'PAYRUN_CLIENT_SECRET_FILE',
  'PAYRUN_LEDGER_KEY_FILE',
  'PAYRUN_SIGNING_KEY_FILE',
  'PAYRUN_SFTP_KEY_FILE',
  'PAYRUN_PROXY_FILE',
  'REDIS_URL_FILE',
])('%s names such a file, or nothing starts', (name) => {
  expect(() => readConfig({ [name]: fileWith(0o644) })).toThrow(`${name}: the file that it names may be read`);
});

test.each([
  { tls: { certificateFile: 'certificate', keyFile: 'secret-644' } },
  {
    oidc: {
      issuer: 'https://login.example.com',
      clientId: 'payrun',
      clientSecretFile: 'secret-644',
      address: 'https://payrun.example.com',
      users: 'known',
    },
  },
])('and so do the parts of PAYRUN_CONFIG: %j', (part) => {
  fileWith(0o644);
  writeFileSync(join(folder, 'certificate'), 'anybody may read this');
  const { error } = webSetting(folder).safeParse(part);
  expect(error?.issues.map(({ message }) => message)).toEqual([expect.stringContaining('chmod 600')]);
});
