import type { IncomingMessage, ServerResponse } from 'node:http';
import type { FastifyBaseLogger, FastifyInstance, RawServerDefault } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { JobQueues } from '../../jobs/open.ts';
import type { App } from '../app.ts';
import type { WebSettings } from '../config-web.ts';
import type { Inbox } from '../inbox/inbox.ts';
import type { Metrics } from '../metrics.ts';
import type { Passwords } from '../people/password.ts';
import type { Act, Role } from '../people/roles.ts';

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
  /** Inboxes that this process watches. */
  readonly inboxes?: readonly WatchedInbox[];
}

/** Who asks. */
export interface Person {
  /** As histories and the audit log name them. */
  readonly name: string;
  readonly role: Role;
  /** What forms repeat, so that no other site can send them; null for a program that brings a key. */
  readonly csrf: string | null;
  readonly may: (act: Act) => boolean;
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
    /** Its form comes in parts, and the handler checks the token of the form itself, before the file. */
    readonly checksCsrf?: boolean;
    /** Asked for by a page without anybody at work: it keeps no session from being idle. */
    readonly looksByItself?: boolean;
  }
  interface FastifyRequest {
    /** Null on public routes, for somebody who has not signed in. */
    who: Person | null;
  }
}
