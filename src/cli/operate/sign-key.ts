import { mkdir, open } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Command } from 'commander';
import { readConfig } from '../../config/config.ts';
import { signingKeyFile } from '../../config/signing-key.ts';
import { codeOf, EXIT, type ExitCode, Refusal } from '../../refusal.ts';
import { makeSigningKey, openSigningKey } from '../../report/signing/signing-key.ts';
import { print, safeText, say } from '../print.ts';

/** `payrun key sign-init`: makes the key that signs reports. */
export function signInitCommand(end: (code: ExitCode) => void): Command {
  return new Command('sign-init')
    .description('make the key that signs reports (no program uses it), and print its public half')
    .addHelpText(
      'after',
      '\nIt lies in the data directory, with mode 600; processes take it up when they are started. Hosts with data' +
        '\ndirectories of their own can share one by PAYRUN_SIGNING_KEY_FILE. docs/verify.md explains how to change it.' +
        '\n\nExample:\n  payrun key sign-init > payrun.pub',
    )
    .action(async () => {
      const { signingKey, dataDir } = readConfig();
      if (signingKey !== undefined) throw refuseSecond();
      const path = signingKeyFile(dataDir);
      const made = makeSigningKey();
      await writeNew(path, made);
      print(openSigningKey(made).pem.trimEnd());
      say(`The private key is in ${safeText(path)}. Above is its public half: give it to whoever checks your reports.`);
      say('Start "serve" and "worker" anew: they sign from then on.');
      end(EXIT.ok);
    });
}

/** `payrun key sign-show`: the public half of the key that signs reports. */
export function signShowCommand(end: (code: ExitCode) => void): Command {
  return new Command('sign-show')
    .description('print the public half of the key that signs reports')
    .addHelpText('after', '\nExample:\n  payrun key sign-show > payrun.pub')
    .action(() => {
      const { signingKey } = readConfig();
      if (signingKey === undefined) throw refuseNone();
      print(openSigningKey(signingKey).pem.trimEnd());
      end(EXIT.ok);
    });
}

async function writeNew(path: string, text: string): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await using file = await open(path, 'wx', 0o600);
    await file.appendFile(text);
    await file.sync();
  } catch (cause) {
    throw new Refusal(`The signing key cannot be written to ${safeText(path)} (${codeOf(cause) ?? 'error'}).`, {
      exitCode: EXIT.usage,
      remedy: 'Make PAYRUN_DATA_DIR a folder that can be written.',
      cause,
    });
  }
}

function refuseSecond(): Refusal {
  return new Refusal('There is a signing key already.', {
    exitCode: EXIT.usage,
    remedy:
      '"payrun key sign-show" prints its public half. To change it, move the private key away first (docs/verify.md).',
  });
}

function refuseNone(): Refusal {
  return new Refusal('There is no signing key, so reports are not signed.', {
    exitCode: EXIT.usage,
    remedy: 'Make one by "payrun key sign-init", or set PAYRUN_SIGNING_KEY_FILE.',
  });
}
