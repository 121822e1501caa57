import { resolve } from 'node:path';
import { z } from 'zod';
import { readSecretFile } from '../secret-file.ts';

/** Of one payout each: an endpoint gets only those that it names. */
export const PAYOUT_EVENTS = ['payout.paid', 'payout.failed', 'payout.returned', 'payout.held'] as const;
export type PayoutEvent = (typeof PAYOUT_EVENTS)[number];

/** What an endpoint gets that names no events. */
export const USUAL_EVENTS = [
  'accepted',
  'refused',
  'awaiting-approval',
  'paused',
  'cut-off',
  'finished',
  'cancelled',
  'settled',
  'unknown',
  'held',
  'returned',
  'failed',
  'pending-long',
  'halted',
  'released',
  'disk-low',
] as const;

/** What payrun notifies of, as settings and receivers name it. */
export const EVENTS = [...USUAL_EVENTS, ...PAYOUT_EVENTS] as const;
export type NotifyEvent = (typeof EVENTS)[number];

const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;

/** So many endpoints share the workers' deliveries, so that none of them waits for another one. */
const WEBHOOKS_MAX = 7;
const ADDRESSES_MAX = 50;
const SECRETS_MAX = 2;
const SECRET_CHARACTERS_MIN = 16;
const SUBMISSION_PORT = 587;
const SMTPS_PORT = 465;
const DISK_FREE_BYTES_MIN = 1024 ** 3;

interface EndpointBase {
  readonly name: string;
  /** What it gets. */
  readonly events: ReadonlySet<NotifyEvent>;
}

export interface WebhookEndpoint extends EndpointBase {
  readonly kind: 'webhook';
  readonly url: string;
  /** One, or two while they are changed: each request is signed with all of them. */
  readonly secrets: readonly string[];
}

export interface MailEndpoint extends EndpointBase {
  readonly kind: 'mail';
  readonly host: string;
  readonly port: number;
  /** TLS from the first byte; otherwise the connection must be upgraded (STARTTLS), but on loopback. */
  readonly secure: boolean;
  readonly login: { readonly userName: string; readonly password: string } | null;
  readonly from: string;
  readonly to: readonly string[];
}

export type Endpoint = WebhookEndpoint | MailEndpoint;

export interface NotifySettings {
  readonly endpoints: readonly Endpoint[];
  readonly pendingMs: number;
  readonly approvalReminderMs: number;
  readonly diskFreeBytesMin: number;
}

export interface SettingsPlace {
  /** A host that may be reached without TLS (PAYRUN_HTTP_HOST); never in prod. */
  readonly httpHost?: string | undefined;
  /** Where the names of files begin that are not absolute: the folder of the settings' own file. */
  readonly folder: string;
}

/** Names stand in Redis and in job ids. */
export const endpointName = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{0,31}$/, 'must be a name of small letters, digits and -, at most 32 of them');

const events = z
  .array(z.enum(EVENTS))
  .min(1)
  .default([...USUAL_EVENTS])
  .transform((list): ReadonlySet<NotifyEvent> => new Set(list));

export function isLoopback(hostname: string): boolean {
  return /^(localhost|127(\.[0-9]{1,3}){3}|\[?::1\]?)$/.test(hostname);
}

/** A file's text without the line end at its end. The path stays unsaid: it may be a secret in the wrong place. */
function secretFile(folder: string): z.ZodType<string, string> {
  return z
    .string()
    .min(1)
    .transform((path, context) => {
      const read = readSecretFile(resolve(folder, path));
      const secret = 'text' in read ? read.text.replace(/\r?\n$/, '') : '';
      if (secret !== '') return secret;
      context.addIssue('problem' in read ? read.problem : 'the file that it names is empty');
      return z.NEVER;
    });
}

function webhookSchema({ httpHost, folder }: SettingsPlace) {
  const signing = secretFile(folder).refine((secret) => secret.length >= SECRET_CHARACTERS_MIN, {
    error: `a secret must have at least ${SECRET_CHARACTERS_MIN} characters`,
  });
  return z
    .strictObject({
      name: endpointName,
      url: z
        .url({ protocol: /^https?$/, error: 'must be an https:// address', abort: true })
        .superRefine((url, context) => {
          const { protocol, hostname, username, password, hash } = new URL(url);
          if (username !== '' || password !== '' || hash !== '') context.addIssue('must have no user and no fragment');
          if (protocol === 'https:' || isLoopback(hostname) || hostname === httpHost) return;
          context.addIssue('http is for loopback and the host named by PAYRUN_HTTP_HOST only');
        }),
      secretFile: signing.optional(),
      secretFiles: z.array(signing).min(1).max(SECRETS_MAX).optional(),
      events,
    })
    .refine((one) => (one.secretFile === undefined) !== (one.secretFiles === undefined), {
      error: 'needs either secretFile or secretFiles',
    })
    .transform(({ secretFile: secret, secretFiles, ...rest }): WebhookEndpoint => {
      return { kind: 'webhook', ...rest, secrets: secretFiles ?? (secret === undefined ? [] : [secret]) };
    });
}

function mailSchema({ folder }: SettingsPlace) {
  return z
    .strictObject({
      name: endpointName.default('mail'),
      host: z.string().regex(/^[A-Za-z0-9._:-]{1,255}$/, 'must be the name or address of a host'),
      port: z.int().min(1).max(65_535).optional(),
      secure: z.boolean().default(false),
      userName: z.string().min(1).optional(),
      passwordFile: secretFile(folder).optional(),
      from: z.email(),
      to: z.array(z.email()).min(1).max(ADDRESSES_MAX),
      events,
    })
    .refine((one) => (one.userName === undefined) === (one.passwordFile === undefined), {
      error: 'needs userName and passwordFile, or neither',
    })
    .transform(({ userName, passwordFile: password, port, ...rest }): MailEndpoint => {
      const login = userName === undefined || password === undefined ? null : { userName, password };
      return { kind: 'mail', ...rest, port: port ?? (rest.secure ? SMTPS_PORT : SUBMISSION_PORT), login };
    });
}

/** The parts of the settings' file that are about notifications, for the schema of the whole. Reads the secrets' files. */
export function notifyParts(place: SettingsPlace) {
  return {
    webhooks: z.array(webhookSchema(place)).max(WEBHOOKS_MAX).default([]),
    mail: mailSchema(place).optional(),
    notify: z
      .strictObject({
        pendingDays: z.number().min(0.01).max(365).default(5),
        approvalReminderHours: z.number().min(0.1).max(720).default(24),
        diskFreeBytesMin: z.int().min(0).default(DISK_FREE_BYTES_MIN),
      })
      .prefault({}),
  };
}

/** The parts as they were read. */
type Parts = Pick<z.infer<z.ZodObject<ReturnType<typeof notifyParts>>>, 'webhooks' | 'mail' | 'notify'>;

/** The settings of the parts, or why they do not go together. */
export function notifySettings({ webhooks, mail, notify }: Parts): NotifySettings | { readonly problem: string } {
  const endpoints = mail === undefined ? webhooks : [...webhooks, mail];
  const names = endpoints.map(({ name }) => name);
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) return { problem: `two endpoints have the name ${twice}` };
  return {
    endpoints,
    pendingMs: notify.pendingDays * DAY_MS,
    approvalReminderMs: notify.approvalReminderHours * HOUR_MS,
    diskFreeBytesMin: notify.diskFreeBytesMin,
  };
}

/** Nobody is notified. */
export const noNotifications: NotifySettings = {
  endpoints: [],
  pendingMs: 5 * DAY_MS,
  approvalReminderMs: DAY_MS,
  diskFreeBytesMin: DISK_FREE_BYTES_MIN,
};
