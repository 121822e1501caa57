import { describe, expect, test } from 'vitest';
import { endSessionsOf } from '../../src/people/sessions.ts';
import { SESSION_COOKIE } from '../../src/web/session.ts';
import { useTestRedis } from '../support/redis.ts';
import { linksOf } from './page-html.ts';
import { openWebRig } from './rig.ts';

const server = await useTestRedis();

describe('a page', () => {
  test('asks somebody to sign in, and remembers where they wanted to go', async () => {
    const { visitor } = await openWebRig(server.url);
    const answer = await visitor().get('/runs?state=paused');
    expect(answer.status).toBe(303);
    expect(answer.headers.get('location')).toBe('/sign-in?next=%2Fruns%3Fstate%3Dpaused');
  });

  test('whose form nobody takes who is signed out leads to the sign-in', async () => {
    const { visitor } = await openWebRig(server.url);
    const answer = await visitor().post('/runs/r1/pause', { reason: 'x' });
    expect(answer.status).toBe(401);
    expect(answer.text).toContain('href="/sign-in"');
  });

  test('whose session is lost leads to the sign-in and back, and so does a form of it', async () => {
    const { app, person } = await openWebRig(server.url);
    const anna = await person('anna', 'maker');
    await endSessionsOf(app, { name: 'anna', actor: 'test' });
    expect((await anna.get('/runs')).headers.get('location')).toBe('/sign-in?next=%2Fruns');
    const { status, text } = await anna.post('/runs/r1/pause', { reason: 'x' });
    expect([status, linksOf(text, '/runs/r1')]).toEqual([401, expect.arrayContaining(['/sign-in'])]);
  });

  test('is shown to whoever has signed in, and has the headers that keep others out', async () => {
    const { person } = await openWebRig(server.url);
    const anna = await person('anna', 'viewer');
    const answer = await anna.get('/runs');
    expect(answer.status).toBe(200);
    expect(answer.text).toContain('There are no runs yet');
    expect(answer.headers.get('content-security-policy')).toMatch(/^default-src 'none';script-src 'self'/);
    expect(Object.fromEntries(answer.headers)).toMatchObject({
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'same-origin',
      'cross-origin-opener-policy': 'same-origin',
    });
  });

  test('is not shown under a name that is not ours', async () => {
    const { person, base } = await openWebRig(server.url);
    const anna = await person('anna', 'viewer');
    expect((await anna.get('/runs')).status).toBe(200);
    const cookie = `${SESSION_COOKIE}=${anna.cookies.get(SESSION_COOKIE)}`;
    const { request } = await import('undici');
    const { statusCode, body } = await request(`${base}/runs`, { headers: { host: 'evil.example', cookie } });
    expect(statusCode).toBe(421);
    expect(await body.text()).toContain('web.hosts');
  });

  test('that there is not says so to everybody', async () => {
    const { visitor, person } = await openWebRig(server.url);
    expect((await visitor().get('/nothing')).status).toBe(404);
    expect((await visitor().get('/nothing')).text).not.toContain('<nav');
    const own = await (await person('anna', 'viewer')).get('/nothing');
    expect(own.status).toBe(404);
    expect(own.text).toContain('<nav aria-label="Main"');
    expect((await visitor().get('/static/payrun.css')).status).toBe(200);
    expect((await visitor().get('/static/../server.js')).status).toBe(404);
  });
});
