import type { Clock, Random } from '../../src/clock.ts';
import { silentLog } from '../../src/log.ts';
import { type Answer, notSent } from '../../src/service/answer.ts';
import { type Brake, retryAfterMs } from '../../src/service/brake.ts';
import type { Service } from '../../src/service/client.ts';
import { openClockDifference } from '../../src/service/clock-difference.ts';
import { openOutage } from '../../src/service/outage.ts';
import { TokenRefused, TokenUnavailable } from '../../src/service/token.ts';
import { latencyMs, type Plan } from './plan.ts';
import type { FakeService, Reply } from './service.ts';
import type { Actor, World } from './world.ts';

/** Told immediately before the first byte of a payment request leaves. */
export type OnLeaving = (body: string) => void;

export interface ClientParts {
  readonly world: World;
  readonly plan: Plan;
  readonly service: FakeService;
  readonly actor: Actor;
  readonly clock: Clock;
  readonly random: Random;
  readonly brake: Brake;
  readonly credentials: string;
  readonly isCalm: () => boolean;
  readonly onLeaving: OnLeaving;
}

type Kind = 'quote' | 'payment' | 'look-up';
const SEND_MS = 5000;
/** Nobody tells a request to end: the processes here end at once. */
const NEVER = new AbortController().signal;

/** A process's client of the service: it keeps to the words of the interface `Service` over the fake network. */
export function openClient(parts: ClientParts): Service {
  const { world, plan, service, actor, clock, brake, credentials } = parts;
  const { dice } = world;
  const outage = openOutage({ clock, random: parts.random, log: silentLog, signal: NEVER });
  const clockDifference = openClockDifference(clock);
  let held: number | undefined;
  const fault = (name: Parameters<Plan['faults']['has']>[0], share: number): boolean =>
    !parts.isCalm() && plan.faults.has(name) && dice.chance(share);
  const lag = (): number => latencyMs(dice, plan, parts.isCalm());

  /** One exchange: written at most once, before `sendBefore` or never. */
  function exchange(
    kind: Kind,
    body: string,
    { token, sendBefore }: { token: number; sendBefore: number },
  ): Promise<Answer> {
    const askedAt = clock.now();
    return new Promise((resolve) => {
      let settled = false;
      const settle = (answer: Answer): void => {
        if (settled) return;
        settled = true;
        giveUp.cancelled = true;
        resolve(answer);
      };
      let giveUp = world.after(sendBefore - clock.monotonic(), {
        actor,
        label: `${kind}: no connection in time`,
        run: () => settle(notSent('deadline')),
      });
      const leave = (): void => {
        if (settled) return;
        if (clock.monotonic() >= sendBefore) {
          settle(notSent('deadline'));
          return;
        }
        giveUp.cancelled = true;
        if (kind === 'payment') parts.onLeaving(body);
        giveUp = world.after(plan.requestTimeoutMs, {
          actor,
          label: `${kind}: no answer in time`,
          run: () => settle({ kind: 'lost', reason: 'time-out', status: null }),
        });
        const reply: Reply = (answer) => {
          const run = (): void => settle(noted(answer, askedAt));
          world.after(0, { actor, label: `${kind} answered ${wordOf(answer)}`, run });
        };
        service.send(kind, { body, credentials, token, reply });
      };
      if (fault('network', 0.04)) {
        world.after(lag(), { actor, label: `${kind}: refused connection`, run: () => settle(notSent('ECONNREFUSED')) });
        return;
      }
      world.after(lag(), { actor, label: `${kind} leaves`, run: leave });
    });
  }

  function noted(answer: Answer, askedAt: number): Answer {
    if (answer.kind === 'answered' && answer.date !== null) {
      clockDifference.saw(answer.date, { askedAt, answeredAt: clock.now() });
    }
    if (answer.kind === 'answered' && answer.status === 429) {
      brake.hold(retryAfterMs(answer.retryAfter, answer.date, clock.now()));
    }
    return answer;
  }

  async function unbraked(): Promise<void> {
    for (let ms = brake.remainingMs(); ms > 0; ms = brake.remainingMs()) await clock.sleep(ms);
  }

  async function fresh(): Promise<number> {
    if (held !== undefined) return held;
    await clock.sleep(lag());
    if (fault('token', 0.1)) throw new TokenUnavailable('HTTP 503');
    if (fault('token', 0.03)) throw new TokenRefused(401, 'invalid_client');
    held = service.tokenNow();
    return held;
  }

  function bear(token: number, answer: Answer): Answer {
    if (answer.kind === 'answered' && answer.status === 401 && held === token) held = undefined;
    return answer;
  }

  async function askOnce(kind: Kind, body: string): Promise<Answer> {
    await unbraked();
    const token = await fresh();
    const send = (): Promise<Answer> => exchange(kind, body, { token, sendBefore: clock.monotonic() + SEND_MS });
    return bear(token, await outage.through(kind, send));
  }

  async function ask(kind: Kind, body: string): Promise<Answer> {
    const answer = await askOnce(kind, body);
    return answer.kind === 'answered' && answer.status === 401 ? await askOnce(kind, body) : answer;
  }

  return {
    fingerprint: credentials,
    isAway: () => outage.isAway(),
    clockDifferenceMs: () => clockDifference.ms(),
    async ready() {
      await outage.waitedOut();
      await fresh();
    },
    quote: (body) => ask('quote', body),
    async createPayment(body, { sendBefore }) {
      if (held === undefined) return notSent('no token');
      const token = held;
      const answer = await exchange('payment', body, { token, sendBefore });
      outage.saw('payment', answer);
      return bear(token, answer);
    },
    readPayment: (id) => ask('look-up', id),
    listIdentities: async () => quiet(service, { data: [] }),
    testToken: async () => quiet(service, {}),
    readBalance: async () => quiet(service, {}),
    close: async () => {},
  };
}

/** What is asked when no payment is known yet. */
function quiet(service: FakeService, json: unknown): Answer {
  const status = service.isLying() ? 404 : 200;
  return { kind: 'answered', status, date: null, retryAfter: null, json, requestId: null };
}

function wordOf(answer: Answer): string {
  return answer.kind === 'answered' ? String(answer.status) : `${answer.kind} ${answer.reason}`;
}
