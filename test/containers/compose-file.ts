import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { ROOT } from '../support/payrun-processes.ts';

const words = z.array(z.string());
const named = z.record(z.string(), z.looseObject({}).nullable());

const service = z.looseObject({
  image: z.string(),
  build: z.object({ context: z.string(), args: z.record(z.string(), z.string()) }).optional(),
  user: z.string().optional(),
  entrypoint: words.optional(),
  command: words,
  environment: z.record(z.string(), z.string()).default({}),
  volumes: words.default([]),
  networks: words.default([]),
  ports: words.default([]),
  restart: z.string(),
  read_only: z.boolean(),
  stop_grace_period: z.string(),
  tmpfs: words,
  cap_drop: words,
  security_opt: words,
  depends_on: z.record(z.string(), z.strictObject({ condition: z.string() })).default({}),
  healthcheck: z.looseObject({}).optional(),
});

/** What docker-compose 1.29 and compose v2 both take at the top of a file: neither `version` nor `name`. */
const composeFile = z
  .object({ services: z.record(z.string(), service), volumes: named, networks: named })
  .catchall(z.unknown())
  .refine((file) => Object.keys(file).every((key) => /^(services|volumes|networks|x-[a-z]+)$/.test(key)), {
    error: 'has something at its top that one of the two does not take',
  });

export type ComposeService = z.output<typeof service>;

/** docker-compose.yml, its anchors resolved. */
export const COMPOSE = composeFile.parse(parse(readRootFile('docker-compose.yml'), { merge: true, version: '1.2' }));

export function composeService(name: string): ComposeService {
  const found = COMPOSE.services[name];
  if (found === undefined) throw new Error(`docker-compose.yml has no service ${name}`);
  return found;
}

export function readRootFile(name: string): string {
  return readFileSync(join(ROOT, name), 'utf8');
}
