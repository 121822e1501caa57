import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { inboxSetting } from '../../src/config/inbox.ts';
import { requireAllowed } from '../../src/inbox/allowed.ts';
import { parseSchedule } from '../../src/inbox/parse-schedule.ts';

/** Folders `ours/in` and `ours-too`, and a link from the first to the second. */
function openFolders(): string {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'payrun-allowed-')));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  mkdirSync(join(base, 'ours/in'), { recursive: true });
  mkdirSync(join(base, 'ours-too'));
  symlinkSync(join(base, 'ours-too'), join(base, 'ours/away'));
  symlinkSync(join(base, 'ours/in'), join(base, 'ours-too/home'));
  return base;
}

const REFUSED = 'Inboxes of schedules are not allowed there.';

describe('an inbox of a schedule', () => {
  test.each(['ours', 'ours/in', 'ours/not-there', 'ours-too/home', 'ours-too/../ours/in'])(
    'may lie in %s',
    async (name) => {
      const base = openFolders();
      const allowed = { folders: [join(base, 'ours')], hosts: [] };
      await expect(requireAllowed(`${base}/${name}`, allowed)).resolves.toBeUndefined();
    },
  );

  test.each(['', 'ours-too', 'ours/away', 'ours/../ours-too', '../../etc'])('may not lie in %j', async (name) => {
    const base = openFolders();
    const allowed = { folders: [join(base, 'ours')], hosts: [] };
    await expect(requireAllowed(`${base}/${name}`, allowed)).rejects.toThrow(REFUSED);
  });

  test.each([
    ['sftp://payrun@files.example.com/in', true],
    ['SFTP://payrun@FILES.example.com:2222/in', true],
    ['sftp://payrun@files.example.com.evil.example/in', false],
    ['sftp://files.example.com@evil.example/in', false],
    ['sftp://payrun@169.254.169.254/in', false],
  ])('on %s is allowed: %s', async (address, isAllowed) => {
    const allowed = { folders: ['/'], hosts: ['files.example.com'] };
    const refusal = await requireAllowed(address, allowed).catch((error: unknown) => String(error));
    expect(refusal === undefined).toBe(isAllowed);
  });

  test('may lie anywhere where there are no settings', async () => {
    await expect(requireAllowed('/etc', null)).resolves.toBeUndefined();
  });

  test('is not set where it may not lie', async () => {
    const base = openFolders();
    const schedule = {
      cron: '0 6 * * *',
      zone: 'UTC',
      act: { kind: 'inbox', dir: join(base, 'ours-too') },
      windowMs: 60_000,
    } as const;
    const inbox = { allowed: { folders: [join(base, 'ours')], hosts: [] } };
    await expect(parseSchedule(schedule, { retentionMs: undefined, inbox })).rejects.toThrow(REFUSED);
  });
});

const read = (part: object) => inboxSetting('/etc/payrun').parse(part).allowed;

describe('the setting', () => {
  test('is the folder of the settings file, and what it names for who drops, unless told', () => {
    expect(read({})).toEqual({ folders: ['/etc/payrun'], hosts: [] });
    expect(read({ folders: { in: 'anna', '/srv/in': 'bob', 'sftp://payrun@files.example.com/in': 'carl' } })).toEqual({
      folders: ['/etc/payrun', '/etc/payrun/in', '/srv/in'],
      hosts: ['files.example.com'],
    });
    expect(read({ allowed: { folders: ['drop', '/srv/payouts'], hosts: ['files.example.com'] } })).toEqual({
      folders: ['/etc/payrun/drop', '/srv/payouts'],
      hosts: ['files.example.com'],
    });
  });

  test.each([{ folders: [''] }, { hosts: ['sftp://x'] }, { hosts: ['A'] }, { other: [] }])('is not %j', (allowed) => {
    expect(inboxSetting('/etc').safeParse({ allowed }).success).toBe(false);
  });
});
