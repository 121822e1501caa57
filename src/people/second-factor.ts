import { Secret, TOTP } from 'otpauth';
import { foldedName } from '../access/same-person.ts';
import type { Random } from '../clock.ts';
import type { StoredUser } from '../ledger/people/people.ts';
import type { TryLimits } from '../ledger/people/sign-ins.ts';
import { Refusal } from '../refusal.ts';
import { type By, type ChangeDeps, changePeople, type Decision, type Proposed } from './change.ts';
import { type FactorSeal, openFactorSeal } from './factor-seal.ts';
import { changeOwn, type FactorDeps, hashOf, newRecoveryCodes } from './own-factor.ts';
import { isOwnPasskey, isPasskeyAnswer } from './passkeys.ts';
import { keepSessionThrough, type SessionDeps } from './sessions.ts';
import { type Refused, tellRefused, type Wait } from './sign-in.ts';
import { factorLimits, TRIES_REMEMBERED_MS } from './sign-in-attempts.ts';
import { type Done, requiresSecondPerson, requireUser } from './users.ts';

/** What all authenticator apps understand (RFC 6238, and the defaults of their key URIs). */
const SHAPE = { algorithm: 'SHA1', digits: 6, period: 30 } as const;
/** RFC 4226, section 4: 160 bits are recommended. */
const SECRET_BYTES = 20;
/** A clock may be so many periods off, either way (RFC 6238, section 5.2). */
const PERIODS_OFF_MAX = 1;

/** A new secret for an authenticator app, in base32. */
function newTotpSecret(random: Pick<Random, 'bytes'>): string {
  return new Secret({ buffer: Uint8Array.from(random.bytes(SECRET_BYTES)).buffer }).base32;
}

/** What an app reads from a QR code. */
function totpUri(secret: string, { issuer, name }: { readonly issuer: string; readonly name: string }): string {
  return new TOTP({ ...SHAPE, issuer, label: name, secret: Secret.fromBase32(secret) }).toString();
}

/** The period for which a code of six digits holds at this time (milliseconds since 1970); undefined for a wrong one. */
function totpPeriod(secret: string, code: string, now: number): number | undefined {
  const totp = new TOTP({ ...SHAPE, secret: Secret.fromBase32(secret) });
  const off = totp.validate({ token: code, timestamp: now, window: PERIODS_OFF_MAX });
  return off === null ? undefined : Math.floor(now / (SHAPE.period * 1000)) + off;
}

const ISSUER = 'payrun';
/** For so long a new secret waits for its first code. */
const OFFER_MS = 10 * 60_000;
/** Longer than any code holds, so that none is taken twice. */
const CODE_USED_MS = 5 * 60_000;

/** What comes beside the password: a code of their authenticator app, one of their recovery codes, or a passkey's answer. */
export interface FactorCode {
  readonly name: string;
  readonly code: string;
  readonly ip: string;
  /** Of the page from which it came, such as `https://payrun.example.com`; '' where that is not known. */
  readonly origin: string;
}

/** A new authenticator app, until its first code has come. */
export interface FactorOffer {
  /** In base32, for apps that read no QR code. */
  readonly secret: string;
  readonly uri: string;
}

/** What somebody may know of their own second factor. */
export interface OwnFactor {
  readonly since: number;
  readonly hasApp: boolean;
  readonly passkeys: readonly { readonly id: string; readonly since: number }[];
  readonly recoveryCodesLeft: number;
}

/** Whether a code is right. Each one is good for once; wrong ones are counted over all addresses, and have to wait. */
export async function proveFactor(
  deps: FactorDeps,
  asked: FactorCode,
): Promise<{ readonly kind: 'proven'; readonly by: FactorKind } | Refused | Wait> {
  const { name, ip } = asked;
  const { signIns } = deps.ledger.people;
  const limits = factorLimits(name);
  const ms = await take(deps, limits);
  if (ms > 0) return { kind: 'wait', ms };
  const user = await deps.ledger.people.user(name);
  const by = kindOf(asked.code);
  const isRight = await PROOFS[by](deps, asked, user);
  if (isRight) {
    await signIns.forgive(limits);
    return { kind: 'proven', by };
  }
  await tellRefused(deps, { user, ip, action: 'user.second-factor-refused' });
  return { kind: 'refused' };
}

type FactorKind = 'app' | 'recovery-code' | 'passkey';

const PROOFS: Readonly<
  Record<FactorKind, (deps: FactorDeps, asked: FactorCode, user: StoredUser | undefined) => Promise<boolean>>
> = {
  app: async (deps, { name, code }, user) => {
    const sealed = user?.factor?.secret ?? undefined;
    const secret = sealed === undefined ? undefined : sealOf(deps).open(name, sealed);
    return await isFreshCode(deps, { secret, name, code: plainCode(code) });
  },
  'recovery-code': (deps, asked) => useRecoveryCode(deps, { ...asked, code: plainCode(asked.code) }),
  passkey: isOwnPasskey,
};

function kindOf(code: string): FactorKind {
  if (isPasskeyAnswer(code)) return 'passkey';
  return /^[0-9]{6}$/.test(plainCode(code)) ? 'app' : 'recovery-code';
}

function plainCode(typed: string): string {
  return typed.replaceAll(/[\s-]/g, '').toUpperCase();
}

/** Somebody's session: nobody else sees, or ends, what is set up in it. */
interface OwnSession {
  readonly id: string;
  readonly name: string;
}

/** Begins to set up an authenticator app, in the place of a former one; it counts once a code of it has come. */
export async function offerFactor(deps: FactorDeps, { id, name }: OwnSession): Promise<void> {
  const sealed = sealOf(deps).seal(name, newTotpSecret(deps.random));
  await deps.ledger.people.signIns.keepOffer(offerName({ id, name }), sealed, OFFER_MS);
}

/** The app that is being set up; undefined for none, or after ten minutes. */
export async function readOffer(deps: FactorDeps, own: OwnSession): Promise<FactorOffer | undefined> {
  const secret = await offeredSecret(deps, own);
  return secret === undefined ? undefined : { secret, uri: totpUri(secret, { issuer: ISSUER, name: own.name }) };
}

/**
 * Sets the app up whose code this is. All sessions of its user end but the one of `id`, which goes on under another id.
 * Gives the recovery codes, which are shown this once; `late`: nothing is being set up any more, or the session is over.
 */
export async function acceptFactor(
  deps: FactorDeps & SessionDeps,
  { id, name, code, ip }: Omit<FactorCode, 'origin'> & { readonly id: string },
): Promise<
  | { readonly kind: 'set-up'; readonly id: string; readonly recoveryCodes: readonly string[] }
  | { readonly kind: 'late' }
  | Refused
  | Wait
> {
  const ms = await take(deps, factorLimits(name));
  if (ms > 0) return { kind: 'wait', ms };
  const secret = await offeredSecret(deps, { id, name });
  if (secret === undefined) return { kind: 'late' };
  if (!(await isFreshCode(deps, { secret, name, code: code.replaceAll(/\s/g, '') }))) return { kind: 'refused' };
  await deps.ledger.people.signIns.forgive(factorLimits(name));
  const recoveryCodes = newRecoveryCodes(deps.random);
  const app = {
    secret: sealOf(deps).seal(name, secret),
    recovery: recoveryCodes.map(hashOf),
    since: deps.clock.now(),
  };
  const kept = await keepSessionThrough(deps, id, async () => {
    await changeOwn(deps, { name, ip }, (user) => ({
      user: { ...user, factor: { ...app, passkeys: user.factor?.passkeys ?? [] }, epoch: user.epoch + 1 },
      action: (user.factor?.secret ?? null) === null ? 'user.second-factor-added' : 'user.second-factor-replaced',
    }));
  });
  await deps.ledger.people.signIns.dropOffer(offerName({ id, name }));
  return kept === undefined ? { kind: 'late' } : { kind: 'set-up', id: kept, recoveryCodes };
}

/** Ten new recovery codes in the place of the former ones; none for whoever has no second factor. */
export async function renewRecoveryCodes(
  deps: FactorDeps,
  asked: Pick<FactorCode, 'name' | 'ip'>,
): Promise<readonly string[]> {
  const codes = newRecoveryCodes(deps.random);
  const isDone = await changeOwn(deps, asked, (user) =>
    user.factor === null
      ? undefined
      : {
          user: { ...user, factor: { ...user.factor, recovery: codes.map(hashOf) } },
          action: 'user.recovery-codes-renewed',
        },
  );
  return isDone ? codes : [];
}

/** What there is of somebody's second factor; undefined for none. */
export async function ownFactor({ ledger }: Pick<FactorDeps, 'ledger'>, name: string): Promise<OwnFactor | undefined> {
  const { factor = null } = (await ledger.people.user(name)) ?? {};
  if (factor === null) return undefined;
  const { since, secret, passkeys, recovery } = factor;
  return {
    since,
    hasApp: secret !== null,
    passkeys: passkeys.map(({ id, since: added }) => ({ id, since: added })),
    recoveryCodesLeft: recovery.length,
  };
}

/** What is proposed, in words; who confirms it means the same. */
export const REMOVE_FACTOR = 'take the second factor away';

/** Takes a lost second factor away, by two people; the user's sessions end. Throws a Refusal. */
export async function removeFactor(
  deps: ChangeDeps,
  { name, ...by }: By & { readonly name: string },
): Promise<Done | Proposed> {
  return await changePeople(deps, by, (people): Decision<Done | Proposed> => {
    const user = requireUser(people, name);
    if (user.factor === null) {
      const remedy = 'There is nothing to take away: the password alone lets them in.';
      throw new Refusal(`${user.name} has no second factor.`, remedy);
    }
    return requiresSecondPerson(people, {
      by,
      user: { ...user, factor: null, epoch: user.epoch + 1 },
      now: deps.clock.now(),
      what: REMOVE_FACTOR,
      action: 'user.second-factor-removed',
    });
  });
}

async function take({ ledger, clock }: FactorDeps, limits: TryLimits): Promise<number> {
  return await ledger.people.signIns.take(limits, { now: clock.now(), rememberMs: TRIES_REMEMBERED_MS });
}

/** Whether the code is one of this secret, and was not taken before. */
async function isFreshCode(
  { ledger, clock }: FactorDeps,
  { secret, name, code }: { readonly secret: string | undefined; readonly name: string; readonly code: string },
): Promise<boolean> {
  const period = secret === undefined ? undefined : totpPeriod(secret, code, clock.now());
  if (period === undefined) return false;
  return await ledger.people.signIns.useOnce(hashOf(`${foldedName(name)} ${secret} ${period}`), CODE_USED_MS);
}

async function useRecoveryCode(deps: FactorDeps, { name, code, ip }: Omit<FactorCode, 'origin'>): Promise<boolean> {
  const { people } = deps.ledger;
  const hash = hashOf(code);
  if ((await people.user(name))?.factor?.recovery.includes(hash) !== true) return false;
  // Two at the same moment make the very same change, which counts as one.
  if (!(await people.signIns.useOnce(hashOf(`${foldedName(name)} ${hash}`), CODE_USED_MS))) return false;
  return await changeOwn(deps, { name, ip }, (user) =>
    user.factor?.recovery.includes(hash) === true
      ? {
          user: { ...user, factor: { ...user.factor, recovery: user.factor.recovery.filter((one) => one !== hash) } },
          action: 'user.recovery-code-used',
        }
      : undefined,
  );
}

async function offeredSecret(deps: FactorDeps, own: OwnSession): Promise<string | undefined> {
  const sealed = await deps.ledger.people.signIns.offer(offerName(own));
  return sealed === undefined ? undefined : sealOf(deps).open(own.name, sealed);
}

function sealOf({ config, random }: FactorDeps): FactorSeal {
  return openFactorSeal(config, random);
}

function offerName({ id, name }: OwnSession): string {
  return hashOf(`offer ${hashOf(id)} ${foldedName(name)}`);
}
