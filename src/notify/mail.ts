import { rootCertificates } from 'node:tls';
import type { Clock } from '../clock.ts';
import { isLoopback, type MailEndpoint } from '../config/notify.ts';
import type { Log } from '../log.ts';
import { codeOf } from '../refusal.ts';
import { mailOf } from './mail-text.ts';
import { readNotification } from './notification.ts';
import type { Sent } from './retry.ts';

/** Each step of the conversation, and all of it. */
const STEP_MS_MAX = 10_000;
const SEND_MS_MAX = 30_000;

export interface MailDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** PEM certificates that are trusted besides Node's own. */
  readonly certificates?: readonly string[] | undefined;
}

/**
 * Sends a notification as a mail. The Message-ID and the date are those of the notification, so that a repeated one is seen
 * as the same mail. Delivered is what the server took for at least one of the addresses: with a bad one among them the
 * others are not told again and again. Never throws for what the server or the network does.
 */
export async function mailNotification(endpoint: MailEndpoint, body: string, deps: MailDeps): Promise<Sent> {
  const { name, from, to } = endpoint;
  const notification = readNotification(body);
  // Most processes send no mail, and need not load what it takes.
  const { createTransport } = await import('nodemailer');
  const transport = createTransport(transportOptions(endpoint, deps.certificates));
  const mail = {
    ...mailOf(notification),
    from,
    to: [...to],
    messageId: `<${notification.id}@${from.slice(from.lastIndexOf('@') + 1)}>`,
    date: new Date(notification.at),
    headers: { 'Auto-Submitted': 'auto-generated', 'Payrun-Event-Id': notification.id },
    disableFileAccess: true,
    disableUrlAccess: true,
  };
  const over = new AbortController();
  try {
    const sending = transport.sendMail(mail).then(
      ({ rejected }): Sent => {
        if (rejected.length > 0) deps.log.warn('addresses were refused', { to: name, count: rejected.length });
        return { delivered: true };
      },
      (error: unknown): Sent => ({ delivered: false, reason: reasonOf(error) }),
    );
    const late = deps.clock.sleep(SEND_MS_MAX, over.signal).then((): Sent => ({ delivered: false, reason: 'timeout' }));
    return await Promise.race([sending, late]);
  } finally {
    over.abort();
    transport.close();
  }
}

function transportOptions({ host, port, secure, login }: MailEndpoint, certificates?: readonly string[]) {
  const ca = certificates === undefined ? {} : { ca: [...rootCertificates, ...certificates] };
  const isLocal = isLoopback(host);
  return {
    host,
    port,
    secure,
    requireTLS: !secure && !isLocal,
    // A server on this host often offers a certificate that nobody can verify.
    ignoreTLS: !secure && isLocal,
    ...(login === null ? {} : { auth: { user: login.userName, pass: login.password } }),
    tls: { rejectUnauthorized: true, minVersion: 'TLSv1.2' as const, ...ca },
    connectionTimeout: STEP_MS_MAX,
    greetingTimeout: STEP_MS_MAX,
    socketTimeout: STEP_MS_MAX,
    dnsTimeout: STEP_MS_MAX,
  };
}

/** The server's status or the fault's code; what the server said may name people. */
function reasonOf(error: unknown): string {
  const status =
    typeof error === 'object' && error !== null && 'responseCode' in error ? error.responseCode : undefined;
  return typeof status === 'number' ? `status ${status}` : (codeOf(error) ?? 'the connection failed');
}
