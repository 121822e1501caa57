import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { isAbsolute, resolve } from 'node:path';
import { z } from 'zod';
import { ROLES, type Role } from '../access/roles.ts';
import { codeOf } from '../refusal.ts';
import { readSecretFile } from '../secret-file.ts';

/** What PAYRUN_CONFIG says of the web app. */
export interface WebSettings {
  /** Names under which browsers reach it, besides those of this host itself (S16: nothing else is answered). */
  readonly hosts: readonly string[];
  /** Addresses or networks of proxies whose X-Forwarded headers count. */
  readonly proxies: readonly string[];
  /** PEM of its own certificate and key; null where it speaks plain HTTP, to this host or to a proxy. */
  readonly tls: { readonly certificate: string; readonly key: string } | null;
  /** Folder with templates that people may choose from. */
  readonly templates: string | null;
  /** Files that one person may have waiting for review. */
  readonly uploadsMax: number;
  /** Whether whoever approves or decides has to have a second factor here. */
  readonly secondFactor: 'optional' | 'required';
  /** Who else can say who somebody is; null where only passwords do. */
  readonly oidc: OidcSettings | null;
}

/** An identity provider (OpenID Connect). */
export interface OidcSettings {
  readonly issuer: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** The origin under which browsers reach the web app: the redirect URI is `<address>/sign-in/provider/callback`. */
  readonly address: string;
  readonly scope: string;
  /** The claim of the ID token that is a user's name. */
  readonly nameClaim: string;
  /** `known`: those whom admins have added, with the roles they have given. Else whoever has one of the roles by a claim. */
  readonly users: 'known' | { readonly claim: string; readonly roles: ReadonlyMap<string, Role> };
}

export const NO_WEB_SETTINGS: WebSettings = {
  hosts: [],
  proxies: [],
  tls: null,
  templates: null,
  uploadsMax: 20,
  secondFactor: 'optional',
  oidc: null,
};

const hostName = z
  .string()
  .regex(
    /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?(:[0-9]{1,5})?$/,
    'must be a host name in lower case, perhaps with a port',
  );
const network = z
  .string()
  .refine(
    (text) => isIP(text.replace(/\/[0-9]{1,3}$/, '')) !== 0,
    'must be an address or a network such as 10.0.0.0/8',
  );

/** The part `web` of PAYRUN_CONFIG; names of files in it begin at `folder`. */
export function webSetting(folder: string) {
  const path = z
    .string()
    .min(1)
    .transform((name) => (isAbsolute(name) ? name : resolve(folder, name)));
  const fileText = path.transform((name, context) => {
    try {
      return readFileSync(name, 'utf8');
    } catch (error) {
      context.addIssue(`names a file that cannot be read (${codeOf(error) ?? 'error'})`);
      return z.NEVER;
    }
  });
  const secretText = path.transform((name, context) => {
    const read = readSecretFile(name);
    if ('text' in read) return read.text;
    context.addIssue(read.problem);
    return z.NEVER;
  });
  return z
    .strictObject({
      hosts: z.array(hostName).max(100).default([]),
      proxies: z.array(network).max(100).default([]),
      tls: z.strictObject({ certificateFile: fileText, keyFile: secretText }).optional(),
      templates: path.optional(),
      oidc: oidcSetting(secretText).optional(),
      secondFactor: z.enum(['optional', 'required']).default(NO_WEB_SETTINGS.secondFactor),
      uploadsMax: z.int().min(1).max(1000).default(NO_WEB_SETTINGS.uploadsMax),
    })
    .transform(
      ({ tls, templates, oidc, hosts, ...rest }): WebSettings => ({
        ...rest,
        hosts: oidc === undefined ? hosts : [...hosts, new URL(oidc.address).host],
        oidc: oidc ?? null,
        tls: tls === undefined ? null : { certificate: tls.certificateFile, key: tls.keyFile },
        templates: templates ?? null,
      }),
    );
}

const LOOPBACK = /^(?:localhost|127(?:\.[0-9]{1,3}){3}|\[::1\])$/;

const encrypted = z
  .url({ protocol: /^https?$/, error: 'must be an https:// address', abort: true })
  .superRefine((text, context) => {
    const { protocol, hostname, username, password, search, hash } = new URL(text);
    if (`${username}${password}${search}${hash}` !== '') context.addIssue('must have no user, query or fragment');
    if (protocol !== 'https:' && !LOOPBACK.test(hostname)) context.addIssue('may be http:// on this host only');
  });

function oidcSetting(secretText: z.ZodType<string, string>) {
  const word = z.string().min(1).max(256);
  const users = z.union(
    [z.literal('known'), z.strictObject({ claim: word, roles: z.record(word, z.enum(ROLES)) })],
    'must be "known", or an object with "claim" and "roles", which gives for values of the claim a role each',
  );
  return z
    .strictObject({
      issuer: encrypted,
      clientId: word,
      clientSecretFile: secretText
        .transform((text) => text.trim())
        .refine((text) => text !== '', 'names an empty file'),
      address: encrypted.refine((text) => new URL(text).pathname === '/', 'must end after the host'),
      scope: z
        .string()
        .regex(/^openid(?: [!-~]+)*$/, 'must begin with "openid"')
        .default('openid profile email'),
      nameClaim: word.default('preferred_username'),
      users,
    })
    .transform(
      ({ clientSecretFile, address, users: who, ...rest }): OidcSettings => ({
        ...rest,
        clientSecret: clientSecretFile,
        address: new URL(address).origin,
        users: who === 'known' ? who : { claim: who.claim, roles: new Map(Object.entries(who.roles)) },
      }),
    );
}
