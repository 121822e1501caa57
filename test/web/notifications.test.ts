import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { describe, expect, test, vi } from 'vitest';
import type { App } from '../../src/app.ts';
import { readEntry } from '../../src/audit/entry.ts';
import { startReceiver, toldTo } from '../notify/notify-desk.ts';
import { startPost } from '../notify/post.ts';
import { useTestRedis } from '../support/redis.ts';
import { configured } from './api-rig.ts';
import { giveUp } from './given-up.ts';
import { foreignParts, formsOf } from './page-html.ts';
import { openWebRig } from './rig.ts';

vi.setConfig({ testTimeout: 180_000 });

const server = await useTestRedis();

const PAGE = '/notifications';
const RETRY = `${PAGE}/retry`;

async function retriesOf({ ledger }: Pick<App, 'ledger'>): Promise<string[]> {
  const found: string[] = [];
  for await (const line of ledger.audit.lines()) {
    const entry = readEntry(line);
    if (entry?.action === 'notifications.retried')
      found.push(`${entry.actor} ${entry.details['id']} ${entry.details['count']}`);
  }
  return found;
}

describe('the page of notifications', () => {
  test('says where endpoints are set while there are none, and is found from the settings', async () => {
    const { person } = await openWebRig(server.url);
    const vera = await person('vera', 'viewer');
    const { status, text } = await vera.get(PAGE);
    expect(status).toBe(200);
    expect(text).toContain('Nobody is notified yet');
    expect((await vera.get('/settings')).text).toContain(`href="${PAGE}"`);
  });

  test('shows each endpoint, what waits for it, and what was given up with the reason', async () => {
    const env = await configured({ webhooks: [{ name: 'books', url: 'https://books.example.com', secretFile: 's' }] });
    writeFileSync(join(dirname(env['PAYRUN_CONFIG'] ?? ''), 's'), 'a secret of this test', { mode: 0o600 });
    const { app, person } = await openWebRig(server.url, { env });
    await giveUp(app, { id: 'n-1', endpoint: '<b>old</b>', reason: '"><img src=x> 500' });
    const { text } = await (await person('vera', 'viewer')).get(PAGE);
    expect(text).toMatch(/<th scope="row">books<\/th><td[^>]*>yes<\/td><td class="number"[^>]*>0</);
    expect(text).toMatch(/<th scope="row">&lt;b>old&lt;\/b><\/th><td[^>]*>not here<\/td>/);
    expect(text).toContain('2026-03-30 06:30:00 UTC');
    expect(text).toContain('&quot;>&lt;img src=x> 500');
    expect(foreignParts(text)).toEqual([]);
  });

  test('lets admins try an endpoint, which gets a test at once, and tells what came of it', async () => {
    const receiver = await startReceiver();
    const hook = { name: 'books', url: receiver.url, secretFile: 's' };
    const env = await configured({ webhooks: [hook, { ...hook, name: 'gone', url: 'http://127.0.0.1:1' }] });
    writeFileSync(join(dirname(env['PAYRUN_CONFIG'] ?? ''), 's'), 'a secret of this test', { mode: 0o600 });
    const { person } = await openWebRig(server.url, { env });
    const [vera, otto] = [await person('vera', 'viewer'), await person('otto', 'admin')];
    expect((await vera.get(PAGE)).text).not.toContain('Try it');
    expect((await vera.post(`${PAGE}/test`, { endpoint: 'books' })).status).toBe(403);
    expect((await otto.get(PAGE)).text).toContain('Try it: send books a test');
    expect((await otto.post(`${PAGE}/test`, { endpoint: 'books' })).text).toContain('books took the test.');
    expect(toldTo(receiver)).toMatchObject([{ event: 'test', reason: 'otto tries it', runId: null }]);
    expect((await otto.post(`${PAGE}/test`, { endpoint: 'gone' })).text).toContain('gone did not take the test: ');
    expect((await otto.post(`${PAGE}/test`, { endpoint: 'none' })).status).toBe(409);
  });

  test('lets admins try mail, which comes at once, and tells when it does not', async () => {
    const post = await startPost();
    const mail = { host: '127.0.0.1', port: post.port, from: 'payrun@example.com', to: ['books@example.com'] };
    const { person } = await openWebRig(server.url, { env: await configured({ mail }) });
    const otto = await person('otto', 'admin');
    expect((await otto.get(PAGE)).text).toContain('Try it: send mail a test');
    expect((await otto.post(`${PAGE}/test`, { endpoint: 'mail' })).text).toContain('mail took the test.');
    expect(post.mails).toMatchObject([{ to: ['books@example.com'], text: expect.stringContaining('otto tries it') }]);
    await post.close();
    expect((await otto.post(`${PAGE}/test`, { endpoint: 'mail' })).text).toContain('mail did not take the test: ');
  });

  test('lets admins alone put back what was given up, one or all, after a question, and notes it', async () => {
    const { app, person } = await openWebRig(server.url);
    for (const id of ['n-1', 'n-2', 'n-3']) await giveUp(app, { id });
    const carl = await person('carl', 'checker');
    const seen = await carl.get(PAGE);
    expect(seen.text).toContain('An admin puts it back.');
    expect(formsOf(seen.text).map(({ action }) => action)).toEqual(['/sign-out']);
    expect((await carl.post(RETRY, { id: 'n-1' })).status).toBe(403);

    const ada = await person('ada', 'admin');
    const { text } = await ada.get(PAGE);
    const forms = formsOf(text).filter(({ action }) => action === RETRY);
    const ids = forms.map(({ fields }) => fields.find(({ name }) => name === 'id')?.value);
    expect(ids).toEqual(['n-1', 'n-2', 'n-3', undefined]);
    expect(text.match(/<details class="confirm">/g)).toHaveLength(4);
    expect(text).toContain('All 3 wait again');

    const one = await ada.post(RETRY, { id: 'n-2' });
    expect([one.status, one.headers.get('location')]).toEqual([303, `${PAGE}?back=1`]);
    expect((await ada.get(`${PAGE}?back=1`)).text).toContain('1 was put back');
    const all = await ada.post(RETRY);
    expect([all.status, all.headers.get('location')]).toEqual([303, `${PAGE}?back=2`]);
    const after = await ada.get(`${PAGE}?back=2`);
    expect(after.text).toContain('2 were put back');
    expect(after.text).not.toContain('Given up</h2>');
    expect(await app.ledger.outbox.endpoints()).toMatchObject([{ name: 'hook', waiting: 3, deadLetters: [] }]);
    expect(await retriesOf(app)).toEqual(['ada n-2 1', 'ada all 2']);
  });

  test('says so when one was put back before, and changes nothing', async () => {
    const { app, person } = await openWebRig(server.url);
    await giveUp(app, { id: 'n-1' });
    const ada = await person('ada', 'admin');
    await ada.get(PAGE);
    for (const id of ['n-9', 'x'.repeat(101)]) {
      const { status } = await ada.post(RETRY, { id });
      expect([409, 422]).toContain(status);
    }
    expect(await app.ledger.outbox.endpoints()).toMatchObject([
      { waiting: 0, deadLetters: [{ reason: 'status 500' }] },
    ]);
    expect(await retriesOf(app)).toEqual([]);
  });

  test('shows the newest of many that were given up, and has all of them as CSV', async () => {
    const { app, person } = await openWebRig(server.url);
    for (let at = 0; at < 60; at++) await giveUp(app, { id: `n-${at}` });
    const vera = await person('vera', 'viewer');
    const { text } = await vera.get(PAGE);
    expect(text).toContain('20 of 60');
    const csv = await vera.get(`${PAGE}.csv`);
    const rows = parse<Record<string, string>>(csv.text, { columns: true });
    expect(rows).toHaveLength(60);
    expect(rows.find(({ givenUp }) => givenUp === 'n-59')).toMatchObject({
      endpoint: 'hook',
      configured: 'no',
      event: 'halted',
      reason: 'status 500',
      run: '',
    });
  });
});
