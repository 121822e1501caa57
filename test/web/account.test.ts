import { describe, expect, test } from 'vitest';
import { browserOf } from '../../src/web/account/browser-of.ts';
import { useTestRedis } from '../support/redis.ts';
import { openWebRig, PASSWORD, type Visitor } from './rig.ts';

const server = await useTestRedis();

const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
const IPHONE =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.0 Safari/604.1';

async function isIn(one: Visitor): Promise<boolean> {
  return (await one.get('/runs')).status === 200;
}

const enter = (one: Visitor, userAgent: string) =>
  one.post(
    '/sign-in',
    { name: 'anna', password: PASSWORD },
    { 'sec-fetch-site': 'same-origin', 'user-agent': userAgent },
  );

describe('own sessions', () => {
  test('stand on a page with browser, address and last use; one is ended there, and then all others', async () => {
    const { person, visitor } = await openWebRig(server.url);
    await person('anna', 'viewer');
    const [here, phone, other] = [visitor(), visitor(), visitor()];
    await enter(here, FIREFOX);
    await enter(phone, IPHONE);
    await enter(other, '<script>alert(1)</script>');
    const page = await here.get('/sessions');
    expect(page.text).toContain('Firefox on Linux');
    expect(page.text).toContain('Safari on iOS');
    expect(page.text).toContain('another browser');
    expect(page.text).not.toContain('<script>alert');
    expect(page.text).toContain('127.0.0.1');
    const [, row = ''] = /<tr><th scope="row">Safari on iOS(.*?)<\/tr>/s.exec(page.text) ?? [];
    const [, session = ''] = /name="session" value="([^"]+)"/.exec(row) ?? [];
    const ended = await here.post('/sessions/end', { session });
    expect([ended.status, ended.headers.get('location')]).toEqual([303, '/sessions']);
    expect([await isIn(here), await isIn(phone), await isIn(other)]).toEqual([true, false, true]);
    expect((await here.post('/sessions/end', { session })).status).toBe(409);

    await here.get('/sessions');
    expect((await here.post('/sessions/end-others')).status).toBe(303);
    expect([await isIn(here), await isIn(other)]).toEqual([true, false]);
  });

  test.each([
    [FIREFOX, 'Firefox on Linux'],
    [IPHONE, 'Safari on iOS'],
    [
      'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/142.0.0.0 Safari/537.36',
      'Chrome on Windows',
    ],
    ['Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/142.0.0.0 Safari/537.36 Edg/142.0', 'Edge on Windows'],
    ['curl/8.0', 'another browser'],
    [undefined, 'another browser'],
  ])('know %j as %s', (userAgent, words) => {
    expect(browserOf(userAgent)).toBe(words);
  });
});
