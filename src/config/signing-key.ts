import { createPrivateKey } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { readSecretFile } from '../secret-file.ts';

/** An Ed25519 private key. */
export const signingKey = z.string().refine(isEd25519, {
  error: 'must be an Ed25519 private key in PEM form, as "openssl genpkey -algorithm ed25519" makes it',
});

function isEd25519(pem: string): boolean {
  try {
    return createPrivateKey(pem).asymmetricKeyType === 'ed25519';
  } catch {
    return false;
  }
}

/** Where a key that payrun makes is put, and where it is looked for while PAYRUN_SIGNING_KEY is not set. */
export function signingKeyFile(dataDir: string): string {
  return join(dataDir, 'signing-key.pem');
}

/** The signing key that lies in the data directory; undefined where there is none. What is wrong with it is a problem. */
export function readSigningKey(dataDir: string, problems: string[]): string | undefined {
  const path = signingKeyFile(dataDir);
  if (!existsSync(path)) return undefined;
  const read = readSecretFile(path);
  const { data, error } = 'text' in read ? signingKey.safeParse(read.text) : { data: undefined, error: undefined };
  const wrong = 'problem' in read ? [read.problem] : (error?.issues ?? []).map(({ message }) => message);
  problems.push(...wrong.map((problem) => `${path}: ${problem}`));
  return data;
}
