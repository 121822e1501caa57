import { writeFileSync } from 'node:fs';
import { extname, join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openBox, payouts } from '../inbox/rig.ts';
import { useProcesses } from '../support/payrun-processes.ts';
import { freshPrefix, useTestRedis } from '../support/redis.ts';
import { openApiRig } from '../web/api-rig.ts';
import { openWebRig } from '../web/rig.ts';
import { HOSTILE_FILES, type HostileFile } from './files.ts';

/** How long anybody else waits for an answer meanwhile, on a machine that does much else. */
const ANSWER_MS_MAX = 2000;
const HANGS_AFTER_MS = 600_000;
vi.setConfig({ testTimeout: HANGS_AFTER_MS });

const server = await useTestRedis();
const processes = useProcesses();

const TYPES: Readonly<Record<string, string>> = {
  '.csv': 'text/csv',
  '.xlsx': 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  '.xml': 'application/xml',
};

/** What a file is handed in with: creditors of a payment message are not known without it. */
const TEMPLATE_FILE = 'hostile.json';
const TEMPLATE = { name: 'hostile', pain001: { creditorBy: 'creditorId' } };

const DOORS = {
  async 'the page for uploads'(file: HostileFile, bytes: Buffer) {
    const { person, base } = await openWebRig(server.url, { settings: templates() });
    const mia = await person('mia', 'maker');
    await mia.get('/upload');
    const form = new FormData();
    form.set('template', TEMPLATE_FILE);
    form.set('file', new Blob([new Uint8Array(bytes)]), file.name);
    const { value, longestMs } = await whileAsking(base, async () => {
      const { headers } = await mia.upload('/upload', form);
      const review = headers.get('location') ?? '';
      expect(review).toMatch(/^\/uploads\//);
      return (await mia.get(review)).text;
    });
    return { told: value, longestMs };
  },
  async 'the API'(file: HostileFile, bytes: Buffer) {
    const { person, program, base } = await openApiRig(server.url, { settings: templates() });
    await person('mia', 'maker');
    const key = await program('accounting', 'maker');
    const type = TYPES[extname(file.name)] ?? '';
    const { value, longestMs } = await whileAsking(
      base,
      async () =>
        await key.call('POST', `/runs?name=${file.name}&template=${TEMPLATE_FILE}`, {
          body: bytes,
          headers: { 'content-type': type },
        }),
    );
    expect(value.status).toBe(422);
    return { told: value.text, longestMs };
  },
  async 'a command'(file: HostileFile, bytes: Buffer) {
    const cwd = processes.folder();
    writeFileSync(join(cwd, file.name), bytes);
    writeFileSync(join(cwd, TEMPLATE_FILE), JSON.stringify(TEMPLATE));
    const words = ['run', file.name, '--template', TEMPLATE_FILE, '--as', 'mia'];
    const { code, stdout, stderr } = await processes.run(words, { cwd });
    expect({ code, stderr }).toMatchObject({ code: 3 });
    return { told: stdout + stderr, longestMs: 0 };
  },
  async 'an inbox'(file: HostileFile, bytes: Buffer) {
    const box = openBox();
    onTestFinished(() => box.remove());
    await box.source.prepare();
    box.drop(file.name, bytes);
    box.drop('sound.csv', payouts('A'));
    const cwd = processes.folder();
    writeFileSync(join(cwd, TEMPLATE_FILE), JSON.stringify(TEMPLATE));
    const words = ['inbox', box.path, '--sandbox', '--once', '--with-worker', '--template', TEMPLATE_FILE];
    const env = { REDIS_URL: server.url, PAYRUN_PREFIX: freshPrefix(), PAYRUN_DATA_DIR: join(cwd, 'data') };
    const { code, stderr } = await processes.run(words, { cwd, env });
    expect({ code, stderr }).toMatchObject({ code: 3 });
    expect(box.names('reports')).toContain('sound.csv.report.json');
    return { told: JSON.stringify(box.nack(file.name)), longestMs: 0 };
  },
};

function templates() {
  const folder = processes.folder();
  writeFileSync(join(folder, TEMPLATE_FILE), JSON.stringify(TEMPLATE));
  return { templates: folder };
}

/** Does something while others ask whether the server lives; the longest of their waits. */
async function whileAsking<Value>(base: string, act: () => Promise<Value>) {
  const acting = { isDone: false };
  let longestMs = 0;
  const asking = (async () => {
    while (!acting.isDone) {
      const began = performance.now();
      expect((await fetch(`${base}/healthz`)).status).toBe(204);
      longestMs = Math.max(longestMs, performance.now() - began);
    }
  })();
  try {
    return { value: await act(), longestMs };
  } finally {
    acting.isDone = true;
    await asking;
  }
}

const NAMES = Object.keys(DOORS) as (keyof typeof DOORS)[];
const CASES = HOSTILE_FILES.map((file, at) => ({ ...file, door: NAMES[at % NAMES.length] ?? 'the API' }));

test.each(CASES)('$what is refused by $door, and others are answered meanwhile ($name)', async ({ door, ...file }) => {
  const { told, longestMs } = await DOORS[door](file, file.make());
  expect(told).toContain(file.code);
  expect(longestMs).toBeLessThan(ANSWER_MS_MAX);
});
