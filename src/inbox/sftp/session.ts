import { createHash } from 'node:crypto';
import type SftpClient from 'ssh2-sftp-client';
import type { Clock } from '../../clock.ts';
import { codeOf, Refusal } from '../../refusal.ts';
import { withoutTrailing } from '../../trailing.ts';
import type { SftpAddress } from './address.ts';

const CONNECT_MS = 20_000;
/** A server that is gone without a word is noticed after three of these. */
const KEEP_ALIVE_MS = 10_000;
const CALL_MS_MAX = 60_000;

export interface SftpSettings {
  /** A private key in OpenSSH's or PEM form. */
  readonly privateKey: string;
  /** SHA-256 fingerprints of the server's keys as `ssh-keygen -l` shows them; the server must show one of them. */
  readonly hostKeys: readonly string[];
}

/** What the server is asked through. */
type Calls = Awaited<ReturnType<SftpClient['connect']>>;
type Done<T> = (error: Error | null | undefined, value: T) => void;

/** A connection that is made when it is needed, and made anew when it was lost. */
export interface SftpSession {
  /** One request and its answer. Throws a Refusal when no connection can be had, else what the server says (`statusOf`). */
  readonly call: <T>(ask: (calls: Calls, done: Done<T>) => void) => Promise<T>;
  close(): Promise<void>;
}

/** One connection, from its making to its loss. */
interface Connection {
  readonly calls: Calls;
  /** Aborted when the connection is gone: what was asked gets no answer any more. */
  readonly gone: AbortSignal;
  readonly end: () => Promise<void>;
}

export function openSftpSession(address: SftpAddress, settings: SftpSettings, clock: Clock): SftpSession {
  let current: Promise<Connection> | undefined;

  /** The present connection, or a new one; one that cannot be made or is lost is forgotten. */
  async function connection(): Promise<Connection> {
    if (current !== undefined) return await current;
    const connecting = connect(address, settings);
    const forget = (): void => {
      if (current === connecting) current = undefined;
    };
    current = connecting;
    connecting.then(({ gone }) => gone.addEventListener('abort', forget, { once: true }), forget);
    return await connecting;
  }

  return {
    async call(ask) {
      const { calls, gone, end } = await connection();
      const waiting = new AbortController();
      const lost = async (): Promise<never> => {
        await clock.sleep(CALL_MS_MAX, AbortSignal.any([waiting.signal, gone]));
        // Who does not answer for so long is given up.
        if (!waiting.signal.aborted) await end();
        throw refuseConnection(address, new Error('the connection was lost'));
      };
      try {
        return await Promise.race([answerOf(calls, ask), lost()]);
      } finally {
        waiting.abort();
      }
    },
    async close() {
      const closing = current;
      current = undefined;
      await closing?.then(({ end }) => end()).catch(() => {});
    },
  };
}

async function connect(address: SftpAddress, settings: SftpSettings): Promise<Connection> {
  const Client = await loadClient();
  const going = new AbortController();
  const go = (): void => going.abort();
  const client: SftpClient = new Client('payrun', { error: go, end: go, close: go });
  let strange: string | undefined;
  const hostVerifier = (key: Buffer): boolean => {
    const shown = fingerprintOf(key);
    const isKnown = settings.hostKeys.includes(shown);
    strange = isKnown ? undefined : shown;
    return isKnown;
  };
  const { host, port, user: username } = address;
  const { privateKey } = settings;
  try {
    const waits = { readyTimeout: CONNECT_MS, keepaliveInterval: KEEP_ALIVE_MS };
    const calls = await client.connect({ host, port, username, privateKey, hostVerifier, ...waits });
    const end = async (): Promise<void> => {
      go();
      await client.end().catch(() => false);
    };
    return { calls, gone: going.signal, end };
  } catch (error) {
    throw strange === undefined ? refuseConnection(address, error) : refuseStranger(address, strange, error);
  }
}

async function answerOf<T>(calls: Calls, ask: (calls: Calls, done: Done<T>) => void): Promise<T> {
  return await new Promise<T>((resolve, reject) => {
    ask(calls, (error, value) => (error === null || error === undefined ? resolve(value) : reject(error)));
  });
}

/** `SHA256:` and base64 without padding, as OpenSSH writes it. */
function fingerprintOf(key: Buffer): string {
  return `SHA256:${withoutTrailing(createHash('sha256').update(key).digest('base64'), '=')}`;
}

async function loadClient(): Promise<typeof SftpClient> {
  try {
    return (await import('ssh2-sftp-client')).default;
  } catch (cause) {
    if (codeOf(cause) !== 'ERR_MODULE_NOT_FOUND') throw cause;
    throw new Refusal(
      'An inbox on an SFTP server needs the package ssh2-sftp-client, which is not installed.',
      'npm install ssh2-sftp-client',
      { cause },
    );
  }
}

function refuseStranger({ host, port }: SftpAddress, shown: string, cause: unknown): Refusal {
  return new Refusal(
    `The SFTP server ${host}:${port} shows the key ${shown}, which is none of PAYRUN_SFTP_HOST_KEY.`,
    'Ask whoever runs the server for its fingerprint. If it differs, somebody is between you and the server: stop.',
    { cause },
  );
}

function refuseConnection({ host, port, user }: SftpAddress, cause: unknown): Refusal {
  const reason = cause instanceof Error ? cause.message : 'unknown reason';
  if (/authentication|privateKey|passphrase/i.test(reason)) {
    return new Refusal(
      `The SFTP server ${host}:${port} does not let ${user} in: ${reason}`,
      'Check the user in the address, and that the server knows the key of PAYRUN_SFTP_KEY_FILE.',
      { cause },
    );
  }
  return new Refusal(
    `The SFTP server ${host}:${port} cannot be reached: ${reason}`,
    'Check the address and the network; files that were not answered stay where they are.',
    { kind: 'unavailable', cause },
  );
}
