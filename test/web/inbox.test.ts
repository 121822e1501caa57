import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { App } from '../../src/app.ts';
import { openInbox } from '../../src/inbox/inbox.ts';
import { parseSchedule } from '../../src/inbox/parse-schedule.ts';
import { readInbox } from '../../src/inbox/read-inbox.ts';
import { setSchedule } from '../../src/schedules/set.ts';
import { type Box, openBox, payouts, watching } from '../inbox/rig.ts';
import { HAS_SSHD, prepareSshd } from '../inbox/sshd.ts';
import { buildProcesses } from '../support/payrun-processes.ts';
import { freshPrefix, useTestRedis } from '../support/redis.ts';
import { linksOf } from './page-html.ts';
import { openWebRig } from './rig.ts';

vi.setConfig({ testTimeout: 180_000 });

const server = await useTestRedis();
let box: Box;
beforeEach(async () => {
  box = openBox();
  await box.source.prepare();
  return () => box.remove();
});

async function scheduleReading(app: App, dir: string, name = 'morning'): Promise<void> {
  const asked = { cron: '30 6 * * *', zone: 'UTC', act: { kind: 'inbox', dir } as const, windowMs: 3_600_000 };
  await setSchedule(app, await parseSchedule(asked, app.config), { name, actor: 'test' });
}

describe('the inbox page', () => {
  test('says how to have an inbox read while nobody reads any', async () => {
    const { person } = await openWebRig(server.url);
    const { status, text } = await (await person('anna', 'viewer')).get('/inbox');
    expect(status).toBe(200);
    expect(text).toContain('Nobody reads an inbox yet');
  });

  test('shows what waits, what was refused, and what was accepted with its run', async () => {
    const { app, person } = await openWebRig(server.url);
    await scheduleReading(app, box.path);
    await scheduleReading(app, box.path, 'evening');
    box.drop('good.csv', payouts('A'));
    box.drop('bad.csv', 'nonsense');
    await readInbox(app, box.source, watching());
    box.drop('later.csv', payouts('B'));
    box.drop('being-uploaded.csv.part', 'x');
    const { text } = await (await person('anna', 'viewer')).get('/inbox');
    expect(text).toContain('Read by schedule evening, schedule morning.');
    const { runId } = box.ack('good.csv');
    expect(text).toMatch(/Waiting to be taken: 1</);
    expect(text).toContain('<th scope="row">later.csv</th>');
    expect(text).not.toContain('being-uploaded');
    expect(text).toMatch(/Refused lately: 1<[\s\S]*<th scope="row"><a href="[^"]+">bad\.csv<\/a><\/th>/);
    expect(text).toMatch(new RegExp(`Taken, and not reported to the end: 1<[\\s\\S]*href="/runs/${runId}"`));
    expect(text).toMatch(new RegExp(`Accepted lately: 1<[\\s\\S]*href="/runs/${runId}"`));
  });

  test('tells what is wrong with a refused file of an inbox that is read, and of no other file', async () => {
    const { app, person } = await openWebRig(server.url);
    await scheduleReading(app, box.path);
    box.drop('bad.csv', 'nonsense');
    await readInbox(app, box.source, watching());
    const anna = await person('anna', 'viewer');
    const href = /href="(\/inbox\/refused[^"]+)">bad\.csv</.exec((await anna.get('/inbox')).text)?.[1] ?? '';
    const page = await anna.get(href.replaceAll('&amp;', '&'));
    expect(page.status).toBe(200);
    expect(page.text).toContain('<code>E_HEADER</code>');
    expect(page.text).toContain('The header line is wrong');
    for (const query of [
      { inbox: box.path, file: 'other.csv' },
      { inbox: box.path, file: '../in/bad.csv' },
      { inbox: join(box.path, '..'), file: 'bad.csv' },
    ]) {
      expect((await anna.get(`/inbox/refused?${new URLSearchParams(query)}`)).status).toBe(404);
    }
  });

  test.skipIf(!HAS_SSHD)(
    'tells what is wrong with refused files of an inbox on a server, when it is asked',
    async () => {
      const sshd = await prepareSshd();
      onTestFinished(() => sshd.remove());
      await sshd.start();
      const folder = mkdtempSync(join(tmpdir(), 'payrun-sftp-'));
      onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
      writeFileSync(join(folder, 'key'), sshd.privateKey, { mode: 0o600 });
      const env = { PAYRUN_SFTP_KEY_FILE: join(folder, 'key'), PAYRUN_SFTP_HOST_KEY: sshd.hostKey };
      const { app, person } = await openWebRig(server.url, { env });
      const inbox = `sftp://${sshd.user}@127.0.0.1:${sshd.port}${box.path}`;
      await scheduleReading(app, inbox);
      box.drop('bad.csv', 'nonsense');
      await readInbox(app, box.source, watching());
      const anna = await person('anna', 'viewer');
      const { text } = await anna.get('/inbox');
      const [list = ''] = linksOf(text, '/inbox').filter((link) => link.startsWith('/inbox/server?'));
      const [file = ''] = linksOf((await anna.get(list)).text, list).filter((link) =>
        link.startsWith('/inbox/refused?'),
      );
      const page = await anna.get(file);
      expect([page.status, page.text]).toEqual([200, expect.stringContaining('Nothing of the file is paid')]);
      const other = `/inbox/server?${new URLSearchParams({ inbox: `${inbox}/other` })}`;
      expect((await anna.get(other)).status).toBe(404);
    },
  );

  test('shows names that mean harm as they are written, and links to nothing that is no answer of ours', async () => {
    const { app, person } = await openWebRig(server.url);
    await scheduleReading(app, box.path);
    const anna = await person('anna', 'viewer');
    box.drop('<img src=x onerror=alert(1)>\u202e.csv', 'x');
    writeFileSync(box.at('reports/evil.csv.ack.json'), JSON.stringify({ runId: '"><script>alert(2)</script>' }));
    writeFileSync(box.at('reports/half.csv.ack.json'), '{"runId":');
    writeFileSync(box.at('reports/huge.csv.ack.json'), JSON.stringify({ runId: 'r1', x: 'x'.repeat(100_000) }));
    symlinkSync('/etc/passwd', box.at('reports/link.csv.ack.json'));
    const { text } = await anna.get('/inbox');
    expect(text).not.toMatch(/<script>alert|<img|href="\/runs\/[^"]/);
    expect(text).toContain('&lt;img src=x onerror=alert(1)>');
    expect(text).toContain('\\u{202e}');
    expect(text).toMatch(/Accepted lately: 4</);
  });

  test('says so when a folder is gone, or lies on a server, and shows the others', async () => {
    const { app, person } = await openWebRig(server.url);
    const gone = openBox();
    await scheduleReading(app, gone.path, 'gone');
    gone.remove();
    await scheduleReading(app, box.path);
    await scheduleReading(app, 'sftp://payrun@files.example.com/in', 'away');
    const { text } = await (await person('anna', 'viewer')).get('/inbox');
    expect(text).toContain('The folder is not there.');
    expect(text).toContain('It is on a server');
    expect(text).toContain('Nothing waits in in/.');
  });

  test('shows how many files there are where it does not show all of them', async () => {
    const { app, person } = await openWebRig(server.url);
    await scheduleReading(app, box.path);
    for (let count = 0; count < 40; count++) box.drop(`file-${count}.csv`, 'x');
    const { text } = await (await person('anna', 'viewer')).get('/inbox');
    expect(text).toContain('Waiting to be taken: 40, of which 10 are shown');
    expect(text.match(/<th scope="row">file-/g)).toHaveLength(10);
  });

  test('shows what keeps this process from reading an inbox', async () => {
    const { person } = await openWebRig(server.url, {
      deps: (app) => {
        const inbox = openInbox(app, box.source, watching());
        inbox.troubles.note('.', new Error('canary: /secret/place'));
        return { inboxes: [{ address: box.path, inbox }] };
      },
    });
    const { text } = await (await person('anna', 'viewer')).get('/inbox');
    expect(text).toContain('Read by this web app.');
    expect(text).toContain('There is a fault; the log names it.');
    expect(text).not.toContain('canary');
  });

  test('can be had as CSV, in which no name of a file is run as a formula', async () => {
    const { app, person } = await openWebRig(server.url);
    await scheduleReading(app, box.path);
    box.drop('=cmd|x.csv', 'x');
    const { text } = await (await person('anna', 'viewer')).get('/inbox.csv');
    const rows = parse<Record<string, string>>(text, { columns: true });
    expect(rows).toMatchObject([{ inbox: box.path, state: 'waiting', file: "'=cmd|x.csv", run: '' }]);
  });
});

async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

describe('payrun serve --inbox', () => {
  test('takes files from several folders beside the web app, pays them, and ends when it is told to', async () => {
    const processes = buildProcesses();
    onTestFinished(() => processes.remove());
    const other = openBox();
    onTestFinished(() => other.remove());
    const env = {
      REDIS_URL: server.url,
      PAYRUN_PREFIX: freshPrefix(),
      PAYRUN_DATA_DIR: join(processes.folder(), 'data'),
    };
    mkdirSync(join(processes.built, 'src/web/static'), { recursive: true });
    const port = String(await freePort());
    const words = ['serve', '--sandbox', '--with-worker', '--port', port, '--inbox', box.path, '--inbox', other.path];
    const serve = processes.start(words, { env });
    await serve.said('is ready: http');
    box.drop('a.csv', payouts('A'));
    await other.source.prepare();
    other.drop('b.csv', payouts('B'));
    await expect.poll(() => existsSync(box.at('reports/a.csv.report.json')), { timeout: 60_000 }).toBe(true);
    await expect.poll(() => existsSync(other.at('reports/b.csv.report.json')), { timeout: 60_000 }).toBe(true);
    expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200);
    serve.kill('SIGTERM');
    expect((await serve.ended).code).toBe(0);
  });

  test('refuses a place that is no inbox before it listens', async () => {
    const processes = buildProcesses();
    onTestFinished(() => processes.remove());
    const dir = processes.folder();
    writeFileSync(join(dir, 'a-file'), 'x');
    const env = { REDIS_URL: server.url, PAYRUN_PREFIX: freshPrefix(), PAYRUN_DATA_DIR: join(dir, 'data') };
    const words = ['serve', '--sandbox', '--port', String(await freePort()), '--inbox', join(dir, 'a-file')];
    const { code, stderr } = await processes.run(words, { env });
    expect(code).toBe(2);
    expect(stderr).toContain('cannot be used');
    expect(stderr).not.toContain('is ready');
  });
});
