import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { notifyParts, notifySettings, USUAL_EVENTS } from '../../src/config/notify.ts';

const folder = mkdtempSync(join(tmpdir(), 'payrun-notify-'));
afterAll(() => rmSync(folder, { recursive: true }));
for (const [name, text] of [
  ['old', 'the-old-secret-16\n'],
  ['new', 'the-new-secret-16'],
  ['short', 'short\n'],
  ['empty', '\n'],
  ['password', 'pass\n'],
] as const) {
  writeFileSync(join(folder, name), text, { mode: 0o600 });
}

const parse = (json: unknown, httpHost?: string) => z.strictObject(notifyParts({ folder, httpHost })).safeParse(json);
const hook = { name: 'hook', url: 'https://hooks.example/payrun', secretFile: 'new' };
const mail = { host: 'smtp.example', from: 'payrun@example.com', to: ['ops@example.com'] };

function read(json: unknown) {
  const { data } = parse(json);
  if (data === undefined) throw new Error('the settings were refused');
  const settings = notifySettings(data);
  if ('problem' in settings) throw new Error(settings.problem);
  return settings;
}

/** Whether a webhook may go there. */
const to = (url: string, httpHost?: string) => parse({ webhooks: [{ ...hook, url }] }, httpHost).success;

describe('settings', () => {
  test('that say nothing tell nobody anything, and have their defaults', () => {
    expect(read({})).toEqual({
      endpoints: [],
      pendingMs: 5 * 86_400_000,
      approvalReminderMs: 86_400_000,
      diskFreeBytesMin: 1024 ** 3,
    });
  });

  test('name endpoints, which are told everything unless they say what; secrets come from files', () => {
    const { endpoints } = read({
      webhooks: [
        hook,
        { name: 'two', url: 'http://127.0.0.1:8/', secretFiles: ['old', join(folder, 'new')], events: ['held'] },
      ],
      mail: { ...mail, userName: 'payrun', passwordFile: 'password' },
    });
    expect(endpoints).toEqual([
      { kind: 'webhook', name: 'hook', url: hook.url, secrets: ['the-new-secret-16'], events: new Set(USUAL_EVENTS) },
      {
        kind: 'webhook',
        name: 'two',
        url: 'http://127.0.0.1:8/',
        secrets: ['the-old-secret-16', 'the-new-secret-16'],
        events: new Set(['held']),
      },
      {
        kind: 'mail',
        name: 'mail',
        ...mail,
        port: 587,
        secure: false,
        login: { userName: 'payrun', password: 'pass' },
        events: new Set(USUAL_EVENTS),
      },
    ]);
    expect(read({ mail: { ...mail, secure: true } }).endpoints[0]).toMatchObject({ port: 465, login: null });
  });

  test('refuse two endpoints of one name', () => {
    const parsed = parse({ webhooks: [{ ...hook, name: 'mail' }], mail });
    expect(parsed.success && notifySettings(parsed.data)).toEqual({ problem: 'two endpoints have the name mail' });
  });

  test('let http go to loopback, and to the one host that is named', () => {
    expect([to('http://localhost:1/'), to('http://127.0.0.2/'), to('http://[::1]:7/')]).toEqual([true, true, true]);
    expect([to('http://hooks:8080/', 'hooks'), to('http://hooks:8080/', 'other'), to('http://hooks:8080/')]).toEqual([
      true,
      false,
      false,
    ]);
  });

  test.each<[what: string, json: unknown]>([
    ['a name that could not stand in a key', { webhooks: [{ ...hook, name: 'a:b' }] }],
    ['no secret', { webhooks: [{ name: 'hook', url: hook.url }] }],
    ['a secret twice', { webhooks: [{ ...hook, secretFiles: ['new'] }] }],
    ['three secrets', { webhooks: [{ name: 'hook', url: hook.url, secretFiles: ['old', 'new', 'old'] }] }],
    ['a short secret', { webhooks: [{ ...hook, secretFile: 'short' }] }],
    ['an empty secret', { webhooks: [{ ...hook, secretFile: 'empty' }] }],
    ['a secret that is not there', { webhooks: [{ ...hook, secretFile: 'nowhere' }] }],
    ['a user in the address', { webhooks: [{ ...hook, url: 'https://u:p@hooks.example/' }] }],
    ['another protocol', { webhooks: [{ ...hook, url: 'ftp://hooks.example/' }] }],
    ['an event that there is not', { webhooks: [{ ...hook, events: ['paid'] }] }],
    ['no event', { webhooks: [{ ...hook, events: [] }] }],
    ['too many', { webhooks: Array.from({ length: 8 }, (_, n) => ({ ...hook, name: `hook-${n}` })) }],
    ['an unknown word', { webhooks: [{ ...hook, secret: 'plain' }] }],
    ['an unknown word of the mail', { mail: { ...mail, password: 'plain' } }],
    ['a user without a password', { mail: { ...mail, userName: 'payrun' } }],
    ['a header in an address', { mail: { ...mail, to: ['a@example.com\r\nBcc: b@example.com'] } }],
    ['nobody to write to', { mail: { ...mail, to: [] } }],
    ['a time that is none', { notify: { pendingDays: 0 } }],
  ])('refuse %s, and show no secret', (_what, json) => {
    const parsed = parse(json);
    expect(parsed.success).toBe(false);
    const shown = JSON.stringify(parsed.error?.issues.map(({ path, message }) => [path, message]));
    for (const secret of ['secret-16', 'plain', 'nowhere']) expect(shown).not.toContain(secret);
  });
});
