import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { App } from '../../src/app.ts';
import { openInbox } from '../../src/inbox/inbox.ts';
import { openSource } from '../../src/inbox/open-source.ts';
import { readInbox } from '../../src/inbox/read-inbox.ts';
import { parseSftpAddress } from '../../src/inbox/sftp/address.ts';
import { entryOf, listedEntries } from '../../src/inbox/sftp/entry.ts';
import type { SftpSettings } from '../../src/inbox/sftp/session.ts';
import type { InboxSource } from '../../src/inbox/source.ts';
import { Refusal } from '../../src/refusal.ts';
import { cancelRun } from '../../src/runs/decide/control.ts';
import { openTestApp } from '../runs/opened-app.ts';
import { startTestRedis, type TestRedis } from '../support/redis.ts';
import { type Box, openBox, pause, payouts, watching } from './rig.ts';
import { HAS_SSHD, prepareSshd, type Sshd } from './sshd.ts';

describe('the address of an inbox on an SFTP server', () => {
  test.each([
    [
      'sftp://payrun@files.example.com/payouts',
      { user: 'payrun', host: 'files.example.com', port: 22, path: '/payouts' },
    ],
    ['sftp://a%40b@[::1]:2222/two%20words/', { user: 'a@b', host: '::1', port: 2222, path: '/two words' }],
    ['SFTP://payrun@host/', { user: 'payrun', host: 'host', port: 22, path: '' }],
  ])('%s', (text, address) => expect(parseSftpAddress(text)).toEqual(address));

  test.each([
    'sftp://host/path',
    'sftp://u:secret@host/path',
    'sftp://u@host/p?x=1',
    'sftp://u@host/%zz',
    'sftp:nothing',
  ])('%s is refused, and not repeated', (text) => {
    expect(() => parseSftpAddress(text)).toThrow(Refusal);
    expect(() => parseSftpAddress(text)).not.toThrow(/secret/);
  });

  test('needs the key to sign in with and that of the server', () => {
    const deps = {
      config: { dataDir: '/nowhere' },
      clock: { now: () => 0, monotonic: () => 0, sleep: async () => {} },
    };
    expect(() => openSource(deps, 'sftp://u@host/p')).toThrow(/PAYRUN_SFTP_KEY|no private key/);
  });
});

describe('a listing', () => {
  const attrs = { mode: 0o100644, size: 5, mtime: 7 };

  test('that names files of other folders is not believed', () => {
    const names = ['..', '.', '../../etc/passwd', 'a/b', '/etc/passwd', 'good.csv'];
    const listed = names.map((filename) => ({ filename, longname: '', attrs }));
    expect(listedEntries(listed).map(({ name }) => name)).toEqual(['good.csv']);
  });

  test.each([
    ['-rw-r--r--    1 1000     1000     5 Jan  1 00:00 a', 1],
    ['-rwxr-sr-t+   2 u        g        5 Jan  1 00:00 a', 2],
    ['a', null],
    ['', null],
  ])('tells how many names a file has where the server writes it: %j', (longname, links) => {
    expect(listedEntries([{ filename: 'a', longname, attrs }])[0]?.links).toBe(links);
  });

  test.each([
    [0o100644, 'file', false],
    [0o100666, 'file', true],
    [0o040700, 'folder', false],
    [0o120777, 'link', false],
    [0o010600, 'special', false],
    [0o140600, 'special', false],
    [0, 'special', false],
  ])('tells by the mode %o what a thing is: a %s', (mode, kind, isWorldWritable) => {
    expect(entryOf('a', { mode, size: 5, mtime: 7 })).toMatchObject({ kind, isWorldWritable });
  });
});

describe.skipIf(!HAS_SSHD)('an inbox on an OpenSSH server', () => {
  let server: TestRedis;
  let sshd: Sshd;
  let app: App & { readonly dir: string };
  let box: Box;
  let source: InboxSource;

  beforeAll(async () => {
    server = await startTestRedis();
    sshd = await prepareSshd();
    await sshd.start();
  });
  afterAll(async () => {
    await sshd.remove();
    await server.stop();
  });
  beforeEach(async () => {
    app = await openTestApp(server.url);
    box = openBox();
    source = remote();
    await source.prepare();
  });
  afterEach(async () => {
    await source.close();
    await app.close();
    box.remove();
  });

  function remote(settings: Partial<SftpSettings> = {}, path = box.path): InboxSource {
    const sftp = { privateKey: sshd.privateKey, hostKeys: ['SHA256:another', sshd.hostKey], ...settings };
    const deps = { config: { dataDir: app.dir, sftp }, clock: app.clock };
    return openSource(deps, `sftp://${sshd.user}@127.0.0.1:${sshd.port}${path}`);
  }

  // Times are in whole seconds there, so files are told apart by them less soon.
  const options = { ...watching(), stableMs: 1200 };
  const read = (from = source): ReturnType<typeof readInbox> => readInbox(app, from, options);

  test('takes a file from its upload to its report', async () => {
    expect(readdirSync(box.path).toSorted()).toEqual(['claimed', 'done', 'in', 'refused', 'reports']);
    const text = payouts('A', 9000);
    writeFileSync(box.at('in/two words.csv.part'), text);
    expect(await read()).toEqual({ accepted: 0, refused: 0, left: 0 });
    renameSync(box.at('in/two words.csv.part'), box.at('in/two words.csv'));
    expect(await read()).toEqual({ accepted: 1, refused: 0, left: 1 });
    const ack = box.ack('two words.csv');
    expect(ack).toMatchObject({ file: { name: 'two words.csv', rows: 9000 }, duplicate: false });
    expect(readFileSync(box.at('done/two words.csv'), 'utf8')).toBe(text);
    expect(statSync(box.at('reports/two words.csv.ack.json')).mode & 0o777).toBe(0o600);
    await cancelRun(app, ack.runId, { actor: 'anna', reason: 'test' });
    expect(await read()).toMatchObject({ left: 0 });
    expect(box.names('reports')).toEqual(
      ['ack.json', 'report.csv', 'report.json'].map((end) => `two words.csv.${end}`),
    );
    expect(readFileSync(box.at('reports/two words.csv.report.csv'), 'utf8').trimEnd().split('\n')).toHaveLength(9001);
    expect(JSON.parse(readFileSync(box.at('reports/two words.csv.report.json'), 'utf8'))).toMatchObject({
      runId: ack.runId,
    });
    expect([...box.names('in'), ...box.names('claimed')]).toEqual([]);
    expect(execFileSync('find', [app.dir, '-path', '*/inbox/*'], { encoding: 'utf8' })).toBe('');
  }, 180_000);

  test('refuses what is wrong with a file, and what is no file, each once', async () => {
    writeFileSync(box.at('in/bad.csv'), 'nonsense');
    symlinkSync('/etc/passwd', box.at('in/link.csv'));
    mkdirSync(box.at('in/folder'));
    execFileSync('mkfifo', [box.at('in/pipe')]);
    writeFileSync(box.at('in/hard.csv'), payouts('A'));
    linkSync(box.at('in/hard.csv'), box.at('hard'));
    writeFileSync(box.at('in/open.csv'), payouts('A'));
    chmodSync(box.at('in/open.csv'), 0o666);
    writeFileSync(box.at('in/pay\nouts.csv'), payouts('A'));
    expect(await read()).toEqual({ accepted: 0, refused: 7, left: 0 });
    expect(await read()).toMatchObject({ refused: 0 });
    const codeOf = (as: string): string | undefined => box.nack(as).problems[0]?.code;
    expect(['link.csv', 'folder', 'pipe', 'hard.csv', 'open.csv', 'pay_outs.csv'].map(codeOf)).toEqual([
      'E_LINK',
      'E_FOLDER',
      'E_SPECIAL',
      'E_HARD_LINK',
      'E_WORLD_WRITABLE',
      'E_FILE_NAME',
    ]);
    expect(box.nack('bad.csv').problemsTotal).toBeGreaterThan(0);
    expect(box.names('refused')).toEqual(['bad.csv', 'folder', 'open.csv', 'pay_outs.csv']);
    expect([...box.names('in'), ...box.names('claimed'), ...box.names('done')]).toEqual([]);
    expect(await app.ledger.runs.list()).toEqual([]);
  }, 180_000);

  test('puts the marked-up copy beside a refusal, and refuses what is written to a file after it was taken', async () => {
    box.drop('mistakes.csv', readFileSync('samples/mistakes.csv'));
    const text = payouts('A');
    box.drop('a.csv', text);
    expect(await read()).toEqual({ accepted: 1, refused: 1, left: 1 });
    const answers = ['a.csv.ack.json', 'mistakes.csv.marked-up.csv', 'mistakes.csv.nack.json'];
    expect(box.names('reports')).toEqual(answers);
    expect(readFileSync(box.at('reports/mistakes.csv.marked-up.csv'), 'utf8')).toContain(
      'payrunProblems,payrunRemedies',
    );
    const [claim = ''] = box.names('claimed/a.csv');
    appendFileSync(box.at(`claimed/a.csv/${claim}/.handed-in`), 'more');
    expect(await read()).toEqual({ accepted: 0, refused: 1, left: 1 });
    expect(box.nack('a.csv').problems).toMatchObject([{ code: 'E_LATE' }]);
    expect(readFileSync(box.at('done/a.csv'), 'utf8')).toBe(text);
    expect(readFileSync(box.at('refused/a.csv'), 'utf8')).toBe(`${text}more`);
  }, 180_000);

  test('gives each file to one of several watchers, and the same content to one run', async () => {
    for (let index = 0; index < 6; index++) box.drop(`f${index}.csv`, payouts(`f${index % 3}`));
    const others = [remote(), remote()];
    const readings = await Promise.all([source, ...others].map(read));
    await Promise.all(others.map((other) => other.close()));
    expect(readings.reduce((sum, { accepted }) => sum + accepted, 0)).toBe(6);
    expect(box.names('reports')).toHaveLength(6);
    const acks = [0, 1, 2, 3, 4, 5].map((index) => box.ack(`f${index}.csv`));
    expect(acks.filter(({ duplicate }) => duplicate)).toHaveLength(3);
    expect(await app.ledger.runs.list()).toHaveLength(3);
  }, 180_000);

  test('does not read a file that grows', async () => {
    const inbox = openInbox(app, source, options);
    box.drop('a.csv', payouts('A'));
    for (let looks = 0; looks < 6; looks++) {
      await inbox.look();
      await inbox.idle();
      appendFileSync(box.at('in/a.csv'), `X${looks}`);
      await pause(300);
    }
    expect(box.names('in')).toEqual(['a.csv']);
  }, 180_000);

  test('is found again after the server was away, with all that was claimed', async () => {
    const said: string[] = [];
    const inbox = openInbox(app, source, { ...options, say: (text) => void said.push(text) });
    box.drop('a.csv', payouts('A'));
    await inbox.look();
    await sshd.stop();
    await expect(inbox.look()).rejects.toBeInstanceOf(Error);
    await expect(source.names('in')).rejects.toMatchObject({ kind: 'unavailable' });
    await sshd.start();
    await expect
      .poll(
        async () => {
          await inbox.look();
          await inbox.idle();
          return box.names('done');
        },
        { timeout: 60_000, interval: 300 },
      )
      .toEqual(['a.csv']);
    expect(box.ack('a.csv').duplicate).toBe(false);
  }, 180_000);

  test('is not spoken to when the server shows another key than the one that is known', async () => {
    const stranger = remote({ hostKeys: ['SHA256:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA'] });
    await expect(stranger.prepare()).rejects.toMatchObject({
      kind: 'usage',
      message: expect.stringContaining(sshd.hostKey),
    });
    await stranger.close();
  });

  test('that does not let this key in is told as that', async () => {
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', box.at('other')]);
    const shutOut = remote({ privateKey: readFileSync(box.at('other'), 'utf8') });
    await expect(shutOut.prepare()).rejects.toMatchObject({
      kind: 'usage',
      message: expect.stringContaining('does not let'),
    });
    await shutOut.close();
  });

  test('that everybody may write to is refused', async () => {
    chmodSync(box.at('in'), 0o777);
    await expect(source.prepare()).rejects.toBeInstanceOf(Refusal);
  });
});
