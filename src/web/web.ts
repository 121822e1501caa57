import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { JobQueues } from '../../jobs/open.ts';
import type { Act, Role } from '../access/roles.ts';
import type { App } from '../app.ts';
import type { WebSettings } from '../config/web.ts';
import type { Inbox } from '../inbox/inbox.ts';
import type { Metrics } from '../metrics.ts';
import type { Passwords } from '../people/password.ts';
import type { FindRows } from '../runs/find-rows.ts';
import type { FindRuns } from '../runs/search/run-search.ts';
import type { Found } from '../runs/search/search.ts';
import type { Zone } from '../zone.ts';
import type { WebLimits } from './limits/limits.ts';
import type { Problem } from './problem.ts';
import type { RecentRuns } from './recent-runs.ts';

/** An inbox that this process watches. */
export interface WatchedInbox {
  readonly address: string;
  readonly inbox: Pick<Inbox, 'troubles'>;
}

/** What the web app is made of. */
export interface WebDeps {
  readonly app: App;
  readonly settings: WebSettings;
  readonly passwords: Passwords;
  /** Addresses under which it is reached, as browsers name them in Host. */
  readonly hosts: ReadonlySet<string>;
  /** For the operators' pages; nothing else may look into the queues. */
  readonly queues?: JobQueues;
  /** Of this process; a new one where there is none yet. */
  readonly metrics?: Metrics;
  /** Where they are not those of `WEB_LIMITS`. */
  readonly limits?: Partial<WebLimits>;
  /** Inboxes that this process watches. */
  readonly inboxes?: readonly WatchedInbox[];
  readonly recentRuns: RecentRuns;
  /** In all runs. */
  readonly search: (text: string) => Promise<Found>;
  readonly findRuns: FindRuns;
  readonly findRows: FindRows;
  /** In which pages tell time. */
  readonly zone: Zone;
}

/** What it is opened with. */
export type WebParts = Omit<WebDeps, 'recentRuns' | 'search' | 'findRuns' | 'findRows' | 'zone'>;

/** Who asks. */
export interface Person {
  /** As histories and the audit log name them. */
  readonly name: string;
  readonly role: Role;
  /** What forms repeat, so that no other site can send them; null for a program that brings a key. */
  readonly csrf: string | null;
  /** When they last proved who they are, and whether by a second factor; null for a program. */
  readonly proof: { readonly at: number; readonly hasFactor: boolean } | null;
  readonly may: (act: Act) => boolean;
}

/** A form that was sent and refused, as the page on which it stands shows it again. */
export interface RefusedForm {
  readonly problem: Problem;
  readonly requestId: string;
  /** Whether something failed on the way, after which nobody knows how much of it was done. */
  readonly mayBeDone: boolean;
  /** The path of its page. */
  readonly page: string;
  /** Where it was sent. */
  readonly action: string;
  /** Which one, of several that are sent there; '' for the only one. */
  readonly form: string;
  /** What its fields said. Those that hide what is typed show none of it. */
  readonly typed: Readonly<Record<string, string>>;
  /** The first field with which something is wrong; undefined for none. */
  readonly first: string | undefined;
}

/** The server with all plugins, to which each folder adds its routes. */
export type Web = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  ZodTypeProvider
>;

declare module 'fastify' {
  interface FastifyContextConfig {
    /** What a person must be allowed to do; every route says it. `public` asks for nobody. */
    readonly act?: Act | 'public';
    /** The route of the page on which its form stands, and on which one that is refused comes back; for forms with fields. */
    readonly page?: string;
    /** Its form comes in parts, and the handler checks the token of the form itself, before the file. */
    readonly checksCsrf?: boolean;
    /** It changes how its user signs in: whoever proved who they are longer ago than five minutes does so again. */
    readonly provesAnew?: boolean;
    /** Asked for by a page without anybody at work: it keeps no session from being idle. */
    readonly looksByItself?: boolean;
  }
  interface FastifyRequest {
    /** Null on public routes, for somebody who has not signed in. */
    who: Person | null;
    /** The form because of which a page is shown; null for a page that was asked for. */
    refused: RefusedForm | null;
  }
}
