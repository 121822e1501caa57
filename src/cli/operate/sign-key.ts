import { mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { readConfig } from '../../config/config.ts';
import { signingKeyFile } from '../../config/signing-key.ts';
import { isDataDir } from '../../ledger/intents/data-dir.ts';
import { codeOf, Refusal } from '../../refusal.ts';
import { makeSigningKey, openSigningKey } from '../../report/signing/signing-key.ts';
import { refuseNoLedger } from '../../runs/safety/no-ledger.ts';
import { command } from '../command.ts';
import { print, safeText, say } from '../print.ts';

/** `payrun key sign-init`: makes the key that signs reports. */
export const signInitCommand = command(
  'sign-init',
  {
    about: 'make the key that signs reports (no program uses it), and print its public half',
    help:
      'It lies in the data directory, with mode 600; processes take it up when they are started. Hosts with data' +
      '\ndirectories of their own can share one by PAYRUN_SIGNING_KEY_FILE. docs/verify.md explains how to change it.',
    examples: ['payrun key sign-init > payrun.pub'],
  },
  async () => {
    const config = readConfig();
    const { signingKey, dataDir } = config;
    if (signingKey !== undefined) throw refuseSecond();
    if (!isDataDir(dataDir)) throw refuseNoLedger({ config, purpose: 'sign' });
    const path = signingKeyFile(dataDir);
    const made = makeSigningKey();
    await writeNew(path, made);
    print(openSigningKey(made).pem.trimEnd());
    say(`The private key is in ${safeText(path)}. Above is its public half: give it to whoever checks your reports.`);
    say('Start "serve" and "worker" of this data directory anew: they sign from then on.');
  },
);

/** `payrun key sign-show`: the public half of the key that signs reports. */
export const signShowCommand = command(
  'sign-show',
  {
    about: 'print the public half of the key that signs reports',
    examples: ['payrun key sign-show > payrun.pub'],
  },
  async () => {
    const { signingKey } = readConfig();
    if (signingKey === undefined) throw refuseNone();
    print(openSigningKey(signingKey).pem.trimEnd());
  },
);

async function writeNew(path: string, text: string): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await using file = await open(path, 'wx', 0o600);
    await file.appendFile(text);
    await file.sync();
  } catch (cause) {
    throw new Refusal(
      `The signing key cannot be written to ${safeText(path)} (${codeOf(cause) ?? 'error'}).`,
      'Make PAYRUN_DATA_DIR a folder that can be written.',
      { cause },
    );
  }
}

function refuseSecond(): Refusal {
  return new Refusal(
    'There is a signing key already.',
    '"payrun key sign-show" prints its public half. To change it, move the private key away first (docs/verify.md).',
  );
}

function refuseNone(): Refusal {
  return new Refusal(
    'There is no signing key, so reports are not signed.',
    'Make one by "payrun key sign-init", or set PAYRUN_SIGNING_KEY_FILE.',
  );
}
