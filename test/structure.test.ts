import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, normalize, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { COMMANDS } from '../src/cli/commands.ts';
import { VERSION } from '../src/version.ts';

const ROOT = resolve(import.meta.dirname, '..');
const LINES_PER_FILE_MAX = 350;
const FILES_PER_FOLDER_MAX = 20;

interface Import {
  readonly file: string;
  /** A path from the repository's root, or the name of a package. */
  readonly target: string;
  readonly isPackage: boolean;
  /** Gone when compiled. */
  readonly isTypeOnly: boolean;
}

const FILES = ['src', 'jobs'].flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
);
const SOURCES = FILES.filter((name) => /\.tsx?$/.test(name));
const textOf = new Map(SOURCES.map((file) => [file, readFileSync(join(ROOT, file), 'utf8')]));

// Under verbatimModuleSyntax `import { type X }` is still an import when compiled; only `import type` is none.
const STATIC = /^(?:import|export)\s+(type\s+)?(?:[\w$*\s{},]+?\s+from\s+)?'([^']+)';/gm;
const DYNAMIC = /\bimport\(\s*'([^']+)'/g;

function importsOf(file: string, text: string): Import[] {
  const found = [
    ...[...text.matchAll(STATIC)].map(([, type, name]) => ({ name: name ?? '', isTypeOnly: type !== undefined })),
    ...[...text.matchAll(DYNAMIC)].map(([, name]) => ({ name: name ?? '', isTypeOnly: false })),
  ];
  return found.map(({ name, isTypeOnly }) => {
    if (name.startsWith('.')) {
      return { file, target: normalize(join(dirname(file), name)), isPackage: false, isTypeOnly };
    }
    const parts = name.split('/').slice(0, name.startsWith('@') ? 2 : 1);
    return { file, target: name.startsWith('node:') ? name : parts.join('/'), isPackage: true, isTypeOnly };
  });
}

const IMPORTS = [...textOf].flatMap(([file, text]) => importsOf(file, text));
const LOCAL = IMPORTS.filter(({ isPackage }) => !isPackage);
const PACKAGES = IMPORTS.filter(({ target, isPackage }) => isPackage && !target.startsWith('node:'));

function shown(imports: readonly Import[]): string[] {
  return imports.map(({ file, target }) => `${file} imports ${target}`);
}

/** The folder of a file as the layers count it: src/pay, src/app.ts, jobs. A file that lies in src itself is its own. */
function placeOf(path: string): string {
  const [top = '', second = ''] = path.split('/');
  return top === 'src' ? `src/${second}` : top;
}

describe('the imports were found', () => {
  test('in every form that TypeScript has', () => {
    const text = `import a from 'a';
import * as b from '@scope/b/deep';
import { c, type C } from './c.ts';
import type { D } from '../d.ts';
import {
  e,
} from 'e';
import 'f';
export { g } from './g.ts';
export type * from './h.ts';
const i = await import('./i.ts');
// import x from 'x';
`;
    expect(importsOf('src/pay/x.ts', text).map(({ target, isTypeOnly }) => [target, isTypeOnly])).toEqual([
      ['a', false],
      ['@scope/b', false],
      ['src/pay/c.ts', false],
      ['src/d.ts', true],
      ['e', false],
      ['f', false],
      ['src/pay/g.ts', false],
      ['src/pay/h.ts', true],
      ['src/pay/i.ts', false],
    ]);
  });

  test('and lead to files that there are', () => {
    expect(LOCAL.length).toBeGreaterThan(100);
    expect(shown(LOCAL.filter(({ target }) => !textOf.has(target)))).toEqual([]);
  });
});

const edge = (file: string, target: string, isTypeOnly = false): Import => ({
  file,
  target,
  isPackage: false,
  isTypeOnly,
});

describe('imports go one way', () => {
  const UPPER = ['src/open-pay.ts', 'src/app.ts', 'jobs', 'src/web', 'src/cli'];
  const rankOf = (path: string): number => UPPER.indexOf(placeOf(path)) + 1;

  test('from cli to web, to jobs, to the composition root, to the domain', () => {
    expect(shown(LOCAL.filter(({ file, target }) => rankOf(target) > rankOf(file)))).toEqual([]);
  });

  test.each<[folder: string, knowsNothingOf: string[], why: string]>([
    [
      'src/intake',
      ['src/ledger', 'src/redis', 'src/runs', 'src/pay', 'src/service', 'src/sandbox', 'src/report'],
      'it never touches Redis',
    ],
    ['src/service', ['src/sandbox', 'src/ledger', 'src/redis', 'src/pay', 'src/runs'], 'it only speaks HTTP'],
    [
      'src/sandbox',
      ['src/service', 'src/ledger', 'src/redis', 'src/pay', 'src/runs', 'src/intake'],
      'it shares nothing with what is tested against it',
    ],
    [
      'src/report',
      ['src/ledger', 'src/redis', 'src/pay', 'src/runs', 'src/service', 'src/sandbox'],
      'it is made from what it is given',
    ],
    ['src/redis', ['src/ledger', 'src/pay', 'src/runs', 'src/service'], 'it only connects'],
    ['src/payout.ts', ['src/ledger', 'src/pay', 'src/runs', 'src/service', 'src/config'], 'it is pure'],
    ['src/moves.ts', ['src/ledger', 'src/pay', 'src/runs', 'src/service', 'src/config'], 'it is pure'],
    ['src/access', ['src/people', 'src/ledger', 'src/config'], 'everything may ask it who is who'],
    [
      'src/config',
      ['src/ledger', 'src/pay', 'src/runs', 'src/people', 'src/inbox', 'src/notify'],
      'they read their settings from it',
    ],
    ['src/money.ts', ['src/payout.ts', 'src/config'], 'it is pure'],
  ])('%s knows nothing of %o: %s', (folder, others) => {
    const broken = LOCAL.filter(({ file, target }) => placeOf(file) === folder && others.includes(placeOf(target)));
    expect(shown(broken)).toEqual([]);
  });

  test('the ledger stores and refuses, and never decides: it uses no code of pay, runs, intake, service or report', () => {
    const deciding = ['src/pay', 'src/runs', 'src/intake', 'src/service', 'src/report'];
    const broken = LOCAL.filter(
      ({ file, target }) => placeOf(file) === 'src/ledger' && deciding.includes(placeOf(target)),
    );
    expect(shown(broken.filter(({ isTypeOnly }) => !isTypeOnly))).toEqual([]);
  });

  test("readers of others' files run in a process of their own: its program alone imports them", () => {
    const readers = /^src\/intake\/(?:xlsx\/read-xlsx|pain001\/read-pain001|statement\/camt|records)\.ts$/;
    const users = LOCAL.filter(({ target, isTypeOnly }) => readers.test(target) && !isTypeOnly).map(({ file }) => file);
    expect([...new Set(users)]).toEqual(['src/intake/reader/reader.ts']);
    expect(shown(LOCAL.filter(({ target }) => target === 'src/intake/reader/reader.ts'))).toEqual([]);
    // Parsers of XML and ZIP are for those readers; one more reads what payrun itself had taken.
    const parsers = LOCAL.filter(({ target }) => /^src\/intake\/(?:xml|xlsx\/zip)\.ts$/.test(target));
    const others = parsers.filter(({ file }) => !/^src\/intake\/(?:xlsx|pain001|statement\/camt)/.test(file));
    expect(others.map(({ file }) => file)).toEqual(['src/report/pain002/message-ids.ts']);
  });

  test('and never in a circle', () => {
    expect(inCircles(LOCAL)).toEqual([]);
  });

  test('nor do folders, types included: each can be understood from those below it', () => {
    const between = LOCAL.map(({ file, target }) => edge(placeOf(file), placeOf(target)));
    expect(inCircles(between.filter(({ file, target }) => file !== target))).toEqual([]);
  });

  test('and a circle would be found', () => {
    expect(inCircles([edge('a', 'b'), edge('b', 'c'), edge('c', 'b'), edge('c', 'd')])).toEqual(['a', 'b', 'c']);
    expect(inCircles([edge('a', 'b'), edge('b', 'a', true)])).toEqual([]);
  });
});

describe('each third-party client lives behind one door', () => {
  const DOORS: Record<string, readonly string[]> = {
    bullmq: ['jobs'],
    ioredis: ['src/redis', 'src/ledger'],
    undici: ['src/service'],
    'csv-parse': ['src/intake'],
    'csv-stringify': ['src/report'],
    commander: ['src/cli'],
    '@pnpm/tabtab': ['src/cli'],
    jose: ['src/sandbox'],
    pino: ['src/log.ts'],
    '@opentelemetry/api': ['src/tracing.ts'],
    '@opentelemetry/context-async-hooks': ['src/tracing.ts'],
    '@opentelemetry/exporter-trace-otlp-http': ['src/tracing.ts'],
    '@opentelemetry/resources': ['src/tracing.ts'],
    '@opentelemetry/sdk-trace-base': ['src/tracing.ts'],
    '@zxcvbn-ts/language-common': ['src/people'],
    '@simplewebauthn/server': ['src/people'],
    otpauth: ['src/people'],
    nodemailer: ['src/notify'],
    'ssh2-sftp-client': ['src/inbox'],
    'cron-parser': ['src/schedules'],
    cronstrue: ['src/schedules'],
    sax: ['src/intake'],
    yazl: ['src/report'],
    fastify: ['src/web'],
    'fastify-type-provider-zod': ['src/web'],
    '@fastify/cookie': ['src/web'],
    '@fastify/helmet': ['src/web'],
    '@fastify/multipart': ['src/web'],
    '@fastify/static': ['src/web'],
    '@fastify/swagger': ['src/web'],
    '@bull-board/api': ['src/web'],
    '@bull-board/fastify': ['src/web'],
    'openid-client': ['src/web'],
    uqr: ['src/web'],
    'd3-scale': ['src/web'],
    'd3-shape': ['src/web'],
    preact: ['src/web'],
    'preact-render-to-string': ['src/web'],
    'prom-client': ['src/metrics.ts'],
  };
  /** May name a client's types, for they hand it on. */
  const TYPES: Record<string, readonly string[]> = { ioredis: ['src/app.ts', 'src/open-pay.ts', 'jobs'] };

  test.each(Object.entries(DOORS))('%s behind %o', (name, doors) => {
    const elsewhere = PACKAGES.filter(({ file, target }) => target === name && !doors.includes(placeOf(file)));
    const allowed = elsewhere.filter(({ file, isTypeOnly }) => isTypeOnly && TYPES[name]?.includes(placeOf(file)));
    expect(shown(elsewhere.filter((one) => !allowed.includes(one)))).toEqual([]);
  });

  test('and zod, which parses at every edge, is the only one without', () => {
    const others = PACKAGES.filter(({ target }) => !(target in DOORS) && target !== 'zod');
    expect(shown(others)).toEqual([]);
  });
});

/** The files whose text matches and which are not among those that may have it. */
function having(pattern: RegExp, allowed: (file: string) => boolean): string[] {
  return SOURCES.filter((file) => !allowed(file) && pattern.test(textOf.get(file) ?? ''));
}

describe('a source file', () => {
  test.each<[what: string, pattern: RegExp, only: RegExp]>([
    [
      'the environment',
      /\bprocess\.env\b|\bprocess\['env'\]|\benv\b.*from 'node:process'/,
      /^src\/config\/(?:config|terminal-variables)\.ts$/,
    ],
    ['the time of day', /\bDate\.now\(|\bnew Date\(\)|\bperformance\.now\(/, /^src\/clock\.ts$/],
    ['chance', /\bMath\.random\(|\brandomBytes\(|\brandomInt\(/, /^src\/clock\.ts$|^src\/(?:sandbox|cli)\//],
    ['fetch', /(?<![\w.])fetch\(/, /^$/],
    ['the terminal', /\bconsole\.|\bprocess\.std(?:out|err)\b/, /^src\/cli\//],
    ['the end of the process', /\bprocess\.exit(?:Code)?\b/, /^src\/cli\//],
    ['a shell', /(?<![\w.])(?:exec|execSync|eval)\(|\bshell:\s*true|\bnew Function\(/, /^$/],
    ['an exit code', /\bEXIT\.|\bexit code\b|\(exit \d/, /^src\/cli\//],
    // Before there is a user, the command line is the only door.
    [
      'a command',
      new RegExp(`\\bpayrun (?:${Object.keys(COMMANDS).join('|')})\\b`),
      /^src\/cli\/|^src\/web\/people\/sign-in-page\.tsx$/,
    ],
  ])('reaches for %s only where that has its place', (_what, pattern, only) => {
    expect(having(pattern, (file) => only.test(file))).toEqual([]);
  });

  test('has no default export', () => {
    expect(having(/^export\s+default\b|\bas\s+default\b/m, () => false)).toEqual([]);
  });

  test(`has at most ${LINES_PER_FILE_MAX} lines`, () => {
    const long = SOURCES.filter((file) => (textOf.get(file) ?? '').split('\n').length - 1 > LINES_PER_FILE_MAX);
    expect(long).toEqual([]);
  });

  test(`has at most ${FILES_PER_FOLDER_MAX - 1} others beside it`, () => {
    const folders = [...new Set(SOURCES.map(dirname))];
    const filesIn = (folder: string): number => SOURCES.filter((file) => dirname(file) === folder).length;
    expect(folders.filter((folder) => filesIn(folder) > FILES_PER_FOLDER_MAX)).toEqual([]);
  });

  test('is named for a noun or a verb of the domain, in kebab-case', () => {
    const paths = FILES.filter((path) => !path.startsWith('src/web/static/'));
    const words = paths.map((path) => [path, basename(path).replace(/\.tsx?$/, '')] as const);
    expect(words.filter(([, word]) => !/^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(word)).map(([path]) => path)).toEqual([]);
    const vague =
      /^(?:index|utils?|utilit(?:y|ies)|helpers?|common|managers?|misc|shared|lib|types|interfaces|constants)$/;
    expect(
      words
        .filter(([, word]) => vague.test(word) || /-(?:utils?|helpers?|managers?)$/.test(word))
        .map(([path]) => path),
    ).toEqual([]);
  });

  test('lies in a place that the design names', () => {
    const places = new Set(SOURCES.map(placeOf));
    const named =
      `app access cli config intake runs pay ledger service sandbox report inbox notify audit people web redis schedules`.split(
        ' ',
      );
    const files =
      'payout moves money capabilities clock closing log metrics zone tracing refusal duration trailing version secret-file ledger-key files reconciled'
        .split(' ')
        .map((name) => `src/${name}.ts`);
    const known = new Set([...named.map((name) => `src/${name}`), 'src/app.ts', 'src/open-pay.ts', ...files, 'jobs']);
    expect([...places].filter((place) => !known.has(place))).toEqual([]);
  });
});

describe('the repository', () => {
  const DESIGN =
    'README.md package.json tsconfig.json docker-compose.yml Dockerfile .ci docs samples src jobs test'.split(' ');
  const TOOLS =
    'package-lock.json LICENSE .gitignore .gitattributes .dockerignore .oxlintrc.json biome.json knip.json tsconfig.build.json vitest.config.ts vitest.faults.config.ts'.split(
      ' ',
    );

  function ignored(): RegExp[] {
    const lines = readFileSync(join(ROOT, '.gitignore'), 'utf8').split('\n');
    return lines
      .map((line) => line.replace(/^\/|\/$/g, ''))
      .filter((line) => line !== '')
      .map((line) => new RegExp(`^${line.replaceAll('.', '\\.').replaceAll('*', '.*')}$`));
  }

  const entries = readdirSync(ROOT).filter((name) => name !== '.git');

  test('has nothing at its top but what the design names and what tools need', () => {
    const patterns = ignored();
    const others = entries.filter((name) => !DESIGN.includes(name) && !TOOLS.includes(name));
    expect(others.filter((name) => !patterns.some((pattern) => pattern.test(name)))).toEqual([]);
  });

  test('has all that the design names', () => {
    expect(DESIGN.filter((name) => !entries.includes(name))).toEqual([]);
  });
});

const versions = z.record(z.string(), z.string()).default({});
const packageJson = z
  .object({
    name: z.string(),
    version: z.string(),
    engines: versions,
    dependencies: versions,
    devDependencies: versions,
    optionalDependencies: versions,
    allowScripts: z.record(z.string(), z.boolean()).default({}),
  })
  .parse(JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')));

describe('package.json', () => {
  const { dependencies, devDependencies, optionalDependencies } = packageJson;

  test('has the version that payrun says of itself', () => {
    expect(VERSION).toBe(packageJson.version);
  });

  test('pins every version exactly', () => {
    const all = Object.entries({ ...dependencies, ...devDependencies, ...optionalDependencies });
    expect(all.filter(([, version]) => !/^[0-9]+\.[0-9]+\.[0-9]+$/.test(version))).toEqual([]);
  });

  test('names each package that the sources import, and no other, as one that payrun needs to run', () => {
    const imported = new Set(PACKAGES.map(({ target }) => target));
    const named = new Set([...Object.keys(dependencies), ...Object.keys(optionalDependencies)]);
    expect([...imported].toSorted()).toEqual([...named].toSorted());
  });

  test('lets no package run a script when it is installed', () => {
    expect(Object.entries(packageJson.allowScripts).filter(([, isAllowed]) => isAllowed)).toEqual([]);
  });
});

describe('the lock file', () => {
  const text = readFileSync(join(ROOT, 'package-lock.json'), 'utf8');
  const entry = z.looseObject({
    version: z.string(),
    integrity: z.string().optional(),
    resolved: z.string().optional(),
    hasInstallScript: z.boolean().optional(),
    os: z.array(z.string()).optional(),
    cpu: z.array(z.string()).optional(),
    optional: z.boolean().optional(),
    optionalDependencies: versions,
  });
  const { packages } = z
    .object({ lockfileVersion: z.literal(3), packages: z.record(z.string(), entry) })
    .parse(JSON.parse(text));
  const locked = Object.entries(packages).filter(([path]) => path !== '');

  test('has an entry for each optional dependency of each package, for whatever machine it is', () => {
    const missing = Object.entries(packages).flatMap(([path, { optionalDependencies }]) =>
      Object.keys(optionalDependencies)
        .filter((name) => !placesOf(path, name).some((place) => place in packages))
        .map((name) => `${path} wants ${name}`),
    );
    expect(missing).toEqual([]);
  });

  test('wants what package.json wants', () => {
    const root = z.object({
      dependencies: versions,
      devDependencies: versions,
      optionalDependencies: versions,
      version: z.string(),
    });
    const { dependencies, devDependencies, optionalDependencies, version } = packageJson;
    expect(root.parse(packages[''])).toEqual({ dependencies, devDependencies, optionalDependencies, version });
  });

  test('has nothing missing, spare or of another version than wanted, overrides included', () => {
    expect(() =>
      execFileSync('npm', ['ls', '--all', '--package-lock-only'], { cwd: ROOT, stdio: 'pipe' }),
    ).not.toThrow();
  });

  test('names no registry: packages come from the one that npm is set to', () => {
    expect(locked.filter(([, { resolved }]) => resolved !== undefined).map(([path]) => path)).toEqual([]);
    expect(text).not.toMatch(/registry|artifactory|nexus|verdaccio|:\/\/[^"]*\.tgz/i);
  });

  test('has the hash of each package, except of those for other machines', () => {
    const without = locked.filter(([, { integrity }]) => integrity === undefined || !integrity.startsWith('sha512-'));
    const foreign = without.filter(([, { optional, os, cpu }]) => optional === true && (os ?? cpu) !== undefined);
    expect(without.map(([path]) => path)).toEqual(foreign.map(([path]) => path));
  });

  test('has an install script only where package.json has decided about it', () => {
    const names = locked.filter(([, { hasInstallScript }]) => hasInstallScript === true).map(([path]) => nameOf(path));
    expect(names.filter((name) => !(name in packageJson.allowScripts))).toEqual([]);
  });
});

/** The files that import one another in a circle when compiled, and those that lead to one. */
function inCircles(imports: readonly Import[]): string[] {
  const targets = new Map<string, string[]>();
  for (const { file, target, isTypeOnly } of imports) {
    if (!isTypeOnly) targets.set(file, [...(targets.get(file) ?? []), target]);
  }
  // Whatever imports nothing that is left is taken away, again and again.
  for (let before = -1; before !== targets.size; ) {
    before = targets.size;
    for (const [file, wanted] of targets) if (!wanted.some((target) => targets.has(target))) targets.delete(file);
  }
  return [...targets.keys()];
}

/** Where a package at a path of the lock file finds another one, the nearest place first. */
function placesOf(path: string, name: string): string[] {
  const places: string[] = [];
  for (let at = path; at !== ''; at = at.slice(0, Math.max(0, at.lastIndexOf('/node_modules/')))) {
    places.push(`${at}/node_modules/${name}`);
    if (!at.includes('/node_modules/')) break;
  }
  return [...places, `node_modules/${name}`];
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
}
