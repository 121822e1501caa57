import { z } from 'zod';
import { foldedName } from '../access/same-person.ts';
import type { StoredUser } from '../ledger/people/people.ts';
import { Refusal } from '../refusal.ts';
import { changeOwn, type FactorDeps, hashOf, newRecoveryCodes } from './own-factor.ts';
import { keepSessionThrough, type SessionDeps } from './sessions.ts';

const RP_NAME = 'payrun';
/** For so long a challenge waits for its answer. */
const CHALLENGE_MS = 5 * 60_000;
/** More would be a slip. */
const PASSKEYS_MAX = 20;

/** Whose passkey it is, and from which page it is used: a passkey answers for the host of its page alone (WebAuthn). */
interface Place {
  readonly name: string;
  readonly origin: string;
}

interface Removed {
  readonly id: string;
  readonly name: string;
  readonly ip: string;
  readonly passkey: string;
  readonly mayBeNone: boolean;
}

const answerSchema = z.strictObject({
  id: z.string(),
  clientDataJSON: z.string(),
  authenticatorData: z.string(),
  signature: z.string(),
});
const newPasskeySchema = z.object({
  id: z.string(),
  rawId: z.string(),
  type: z.literal('public-key'),
  clientExtensionResults: z.object({}),
  response: z.object({ clientDataJSON: z.string(), attestationObject: z.string() }),
});

/** What a browser asks a passkey with; undefined for whoever has none. */
export async function passkeyChallenge(deps: FactorDeps, { name, origin }: Place): Promise<object | undefined> {
  const passkeys = (await deps.ledger.people.user(name))?.factor?.passkeys ?? [];
  if (passkeys.length === 0) return undefined;
  const { generateAuthenticationOptions } = await library();
  const allowCredentials = passkeys.map(({ id }) => ({ id }));
  const options = await generateAuthenticationOptions({ rpID: hostOf(origin), allowCredentials });
  await keepChallenge(deps, challengeName('proof', name), options.challenge);
  return options;
}

/** What a browser makes a new passkey with. */
export async function newPasskeyOptions(deps: FactorDeps, { name, origin }: Place): Promise<object> {
  const { generateRegistrationOptions } = await library();
  const passkeys = (await deps.ledger.people.user(name))?.factor?.passkeys ?? [];
  const options = await generateRegistrationOptions({
    rpName: RP_NAME,
    rpID: hostOf(origin),
    userName: name,
    userID: Uint8Array.from(Buffer.from(hashOf(`passkey ${foldedName(name)}`), 'hex')),
    attestationType: 'none',
    excludeCredentials: passkeys.map(({ id }) => ({ id })),
    authenticatorSelection: { residentKey: 'discouraged', userVerification: 'preferred' },
  });
  await keepChallenge(deps, challengeName('new', name), options.challenge);
  return options;
}

/**
 * Adds the passkey that a browser made. All sessions of its user end but the one of `id`, which goes on under another id.
 * Gives recovery codes, which are shown this once, to whoever had no second factor; undefined for what is no answer to the last
 * challenge.
 */
export async function addPasskey(
  deps: FactorDeps & SessionDeps,
  { id, name, origin, ip, made }: Place & { readonly id: string; readonly ip: string; readonly made: string },
): Promise<{ readonly id: string; readonly recoveryCodes: readonly string[] } | undefined> {
  const passkey = await madeHere(deps, { name, origin }, made);
  const { factor: present = null } = (await deps.ledger.people.user(name)) ?? {};
  if (passkey === undefined || (present?.passkeys.length ?? 0) >= PASSKEYS_MAX) return undefined;
  const codes = newRecoveryCodes(deps.random);
  const since = deps.clock.now();
  let isFirst = false;
  const kept = await keepSessionThrough(deps, id, async () => {
    await changeOwn(deps, { name, ip }, (user) => {
      isFirst = user.factor === null;
      const factor = user.factor ?? { secret: null, recovery: codes.map(hashOf), since, passkeys: [] };
      const passkeys = [...factor.passkeys, { ...passkey, since }];
      return {
        user: { ...user, factor: { ...factor, passkeys }, epoch: user.epoch + 1 },
        action: 'user.passkey-added',
      };
    });
  });
  return kept === undefined ? undefined : { id: kept, recoveryCodes: isFirst ? codes : [] };
}

/**
 * Takes one of somebody's passkeys away. All sessions of its user end but the one of `id`, which goes on under the id that it
 * gives; undefined for a passkey that is none of theirs, and for a session that is over. Without `mayBeNone` it throws a
 * Refusal for the last thing that they prove themselves by.
 */
export async function removePasskey(
  deps: FactorDeps & SessionDeps,
  { id, name, ip, passkey, mayBeNone }: Removed,
): Promise<string | undefined> {
  let isDone = false;
  const kept = await keepSessionThrough(deps, id, async () => {
    isDone = await changeOwn(deps, { name, ip }, (user) => {
      const { factor } = user;
      const passkeys = factor?.passkeys.filter((one) => one.id !== passkey) ?? [];
      if (factor === null || passkeys.length === factor.passkeys.length) return undefined;
      const isNone = factor.secret === null && passkeys.length === 0;
      if (isNone && !mayBeNone)
        throw new Refusal('This passkey is your only second factor.', 'Set up another one first.');
      const left = isNone ? null : { ...factor, passkeys };
      return { user: { ...user, factor: left, epoch: user.epoch + 1 }, action: 'user.passkey-removed' };
    });
  });
  return isDone ? kept : undefined;
}

/** Whether what came in the place of a code is the answer of a passkey. */
export function isPasskeyAnswer(code: string): boolean {
  return code.startsWith('{');
}

/** Whether it is the answer of one of the user's passkeys to the last challenge, which is used up. */
export async function isOwnPasskey(
  deps: FactorDeps,
  { name, origin, code, ip }: Place & { readonly code: string; readonly ip: string },
  user: StoredUser | undefined,
): Promise<boolean> {
  const expectedChallenge = await takeChallenge(deps, challengeName('proof', name));
  const answer = parsed(answerSchema, code);
  const passkey = user?.factor?.passkeys.find(({ id }) => id === answer?.id);
  if (expectedChallenge === undefined || answer === undefined || passkey === undefined) return false;
  const { id, ...response } = answer;
  const { verifyAuthenticationResponse } = await library();
  const verifying = verifyAuthenticationResponse({
    response: { id, rawId: id, type: 'public-key', clientExtensionResults: {}, response },
    expectedChallenge,
    expectedOrigin: origin,
    expectedRPID: hostOf(origin),
    credential: {
      id,
      publicKey: Uint8Array.from(Buffer.from(passkey.publicKey, 'base64url')),
      counter: passkey.counter,
    },
    requireUserVerification: false,
  });
  // It throws for each thing that is wrong with an answer.
  const { verified, authenticationInfo } = await verifying.catch(() => ({ verified: false, authenticationInfo: null }));
  if (!verified || authenticationInfo === null) return false;
  const { newCounter } = authenticationInfo;
  return newCounter === passkey.counter || (await countUse(deps, { name, ip }, { id, counter: newCounter }));
}

/** False when another use counted as much meanwhile. */
async function countUse(
  deps: FactorDeps,
  who: { readonly name: string; readonly ip: string },
  { id, counter }: { readonly id: string; readonly counter: number },
): Promise<boolean> {
  return await changeOwn(deps, who, (user) => {
    const { factor } = user;
    if (factor?.passkeys.some((one) => one.id === id && one.counter < counter) !== true) return undefined;
    const passkeys = factor.passkeys.map((one) => (one.id === id ? { ...one, counter } : one));
    return { user: { ...user, factor: { ...factor, passkeys } }, action: 'user.passkey-used' };
  });
}

async function madeHere(deps: FactorDeps, { name, origin }: Place, made: string) {
  const expectedChallenge = await takeChallenge(deps, challengeName('new', name));
  const response = parsed(newPasskeySchema, made);
  if (expectedChallenge === undefined || response === undefined) return undefined;
  const { verifyRegistrationResponse } = await library();
  const expected = { expectedChallenge, expectedOrigin: origin, expectedRPID: hostOf(origin) };
  const verifying = verifyRegistrationResponse({ response, ...expected, requireUserVerification: false });
  const { registrationInfo } = await verifying.catch(() => ({ registrationInfo: undefined }));
  if (registrationInfo === undefined) return undefined;
  const { id, publicKey, counter } = registrationInfo.credential;
  return { id, publicKey: Buffer.from(publicKey).toString('base64url'), counter };
}

/** Most commands never need it, and it takes long to load. */
async function library() {
  return await import('@simplewebauthn/server');
}

async function keepChallenge({ ledger }: FactorDeps, what: string, challenge: string): Promise<void> {
  await ledger.people.signIns.keepOffer(what, challenge, CHALLENGE_MS);
}

/** Each is good for one answer. */
async function takeChallenge({ ledger }: FactorDeps, what: string): Promise<string | undefined> {
  const { signIns } = ledger.people;
  const challenge = await signIns.offer(what);
  if (challenge === undefined || !(await signIns.useOnce(hashOf(`challenge ${challenge}`), CHALLENGE_MS)))
    return undefined;
  await signIns.dropOffer(what);
  return challenge;
}

function challengeName(what: 'proof' | 'new', name: string): string {
  return hashOf(`passkey ${what} ${foldedName(name)}`);
}

function hostOf(origin: string): string {
  return URL.canParse(origin) ? new URL(origin).hostname : '';
}

function parsed<Schema extends z.ZodType>(schema: Schema, text: string): z.output<Schema> | undefined {
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
