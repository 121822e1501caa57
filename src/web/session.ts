import type { FastifyReply, FastifyRequest } from 'fastify';
import { may } from '../access/roles.ts';
import { awaitedName, endSession, findSession, startSession } from '../people/sessions.ts';
import { knowDevice } from '../people/sign-in.ts';
import { browserOf } from './account/browser-of.ts';
import type { Person, WebDeps } from './web.ts';

/** The prefix binds it to this host, to HTTPS and to all paths (RFC 6265bis, section 4.1.3.2). */
export const SESSION_COOKIE = '__Host-payrun';
const COOKIE = { path: '/', httpOnly: true, secure: true, sameSite: 'strict' } as const;

/** Whoever signed in with the browser that asks, if the session still holds. */
export async function readSession(request: FastifyRequest, { app }: WebDeps): Promise<Person | null> {
  const id = request.cookies[SESSION_COOKIE];
  if (id === undefined) return null;
  const touches = request.routeOptions.config.looksByItself !== true;
  const session = await findSession(app, id, { touches });
  if (session === undefined) return null;
  const { name, role, csrf, reauthAt, hasFactor } = session;
  return { name, role, csrf, proof: { at: reauthAt, hasFactor }, may: (act) => may(role, act) };
}

/** Where whoever has a second factor gives it. */
export const AWAITED_FACTOR = '/sign-in/second-factor';

/**
 * Begins a session under a new id, whatever the browser brought (S12). Gives the path where its user goes on: `next`, or
 * where they give their second factor first.
 */
export async function beginSession(
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  { app }: WebDeps,
  { name, next }: { readonly name: string; readonly next: string },
): Promise<string> {
  const former = request.cookies[SESSION_COOKIE];
  if (former !== undefined) await endSession(app, former);
  const place = { ip: request.ip, browser: browserOf(request.headers['user-agent']) };
  const id = await startSession(app, name, place);
  keepSession(reply, id);
  const isAwaited = (await awaitedName(app, id)) !== undefined;
  if (!isAwaited) await keepDevice({ request, reply }, app, name);
  return isAwaited ? `${AWAITED_FACTOR}?next=${encodeURIComponent(next)}` : next;
}

/** The name by which payrun knows the browser since an earlier sign-in. */
const DEVICE_COOKIE = '__Host-payrun-device';

/** Has payrun know the browser with which somebody is in now, so that no stranger keeps it from signing in again. */
export async function keepDevice(
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  app: WebDeps['app'],
  name: string,
): Promise<void> {
  const { device, ms } = await knowDevice(app, { name, device: deviceOf(request) });
  reply.setCookie(DEVICE_COOKIE, device, { ...COOKIE, maxAge: ms / 1000 });
}

/** What the browser keeps since an earlier sign-in. */
export function deviceOf({ cookies }: FastifyRequest): string | undefined {
  return cookies[DEVICE_COOKIE];
}

/** Has the browser go on with the session of this id. */
export function keepSession(reply: FastifyReply, id: string): void {
  reply.setCookie(SESSION_COOKIE, id, COOKIE);
}

/** The id that the browser brought; '' for a program's key. */
export function sessionIdOf(request: FastifyRequest): string {
  return request.cookies[SESSION_COOKIE] ?? '';
}

/** Ends the session, here and in the browser. */
export async function leaveSession(
  { request, reply }: { request: FastifyRequest; reply: FastifyReply },
  { app }: WebDeps,
): Promise<void> {
  const id = request.cookies[SESSION_COOKIE];
  if (id !== undefined) await endSession(app, id);
  reply.clearCookie(SESSION_COOKIE, COOKIE);
}
