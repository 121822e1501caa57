import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { readSchedule } from '../../src/schedules/schedule.ts';
import { useTestRedis } from '../support/redis.ts';
import { openWebRig } from './rig.ts';

vi.setConfig({ testTimeout: 180_000 });

const server = await useTestRedis();

const MORNING = { name: 'morning', cron: '30 6 * * 1-5', zone: 'Europe/Berlin', act: 'start', dir: '', window: '90m' };

describe('the schedules page', () => {
  test('says what to do while there are none, and has a form only for those who may set them', async () => {
    const { person } = await openWebRig(server.url);
    const anna = await person('anna', 'maker');
    const { status, text } = await anna.get('/schedules');
    expect(status).toBe(200);
    expect(text).toContain('There are no schedules yet');
    expect(text).not.toContain('Set the schedule');
    expect((await anna.post('/schedules', MORNING)).status).toBe(403);
    expect((await (await person('carl', 'checker')).get('/schedules')).text).toContain('Set the schedule');
  });

  test('shows a schedule that was set in words, with its next five times in its zone, and who set it', async () => {
    const { app, person } = await openWebRig(server.url);
    const carl = await person('carl', 'checker');
    await carl.get('/schedules');
    const answer = await carl.post('/schedules', MORNING);
    expect([answer.status, answer.headers.get('location')]).toEqual([303, '/schedules']);
    const { text } = await carl.get('/schedules');
    expect(text).toContain('At 06:30, Monday through Friday (Europe/Berlin); made up for within 90 minutes');
    expect(
      text.match(
        /<time dateTime="[^"]+" title="[0-9-]{10} 0[45]:30:00 UTC" [^>]+>[A-Z][a-z]{2} [0-9-]{10} 06:30 \+0[12]:00 Europe\/Berlin/gi,
      ),
    ).toHaveLength(5);
    expect(text).toMatch(/<td[^>]*>carl<\/td>/);
    const { schedules } = await app.ledger.schedules.read();
    expect(schedules.map(({ name, setBy }) => [name, setBy])).toEqual([['morning', 'carl']]);
    const entries = [];
    for await (const line of app.ledger.audit.lines()) entries.push(line);
    expect(entries.filter((line) => line.includes('schedule.set'))).toHaveLength(1);
  });

  test.each([
    ['a cron that is none', { cron: '61 * * * *' }, 'is not a cron expression'],
    ['a zone that is none', { zone: 'Mars/Olympus' }, 'Mars/Olympus'],
    ['a window that is too long', { window: '8d' }, 'The field &quot;Window&quot; must be from 1m to 7d.'],
    ['a name that is none', { name: 'two words' }, 'The field &quot;Name&quot; must have 1 to 40'],
    ['an inbox that is not there', { act: 'inbox', dir: '/nowhere/at/all' }, 'The inbox /nowhere/at/all is not there'],
    ['an inbox with a password', { act: 'inbox', dir: 'sftp://u:canary@h/in' }, 'without a password'],
    ['a purge of which nobody said how old', { act: 'purge' }, 'PAYRUN_RETENTION'],
  ])('refuses %s on the page, which keeps what was typed, and sets nothing', async (_what, wrong, message) => {
    const { app, person } = await openWebRig(server.url);
    const carl = await person('carl', 'checker');
    await carl.get('/schedules');
    const { status, text } = await carl.post('/schedules', { ...MORNING, ...wrong });
    expect(status).toBe(422);
    expect(text).toContain(message);
    expect(text).toContain(`value="${{ ...MORNING, ...wrong }.name}"`);
    expect(text).not.toContain('canary');
    expect((await app.ledger.schedules.read()).schedules).toEqual([]);
  });

  test('tells all that is wrong with a schedule at once, each beside its field', async () => {
    const { person } = await openWebRig(server.url);
    const carl = await person('carl', 'checker');
    await carl.get('/schedules');
    const wrong = { name: 'two words', cron: '61 * * * *', zone: 'Mars/Olympus', act: 'inbox', dir: '/nowhere/at/all' };
    const { status, text } = await carl.post('/schedules', { ...MORNING, ...wrong, window: '8d' });
    expect(status).toBe(422);
    for (const field of ['name', 'cron', 'zone', 'dir', 'window']) {
      expect(text).toContain(`<small id="problem-field-${field}" class="field-problem">`);
    }
  });

  test('asks once more before a schedule is removed', async () => {
    const { person } = await openWebRig(server.url);
    const carl = await person('carl', 'checker');
    await carl.get('/schedules');
    await carl.post('/schedules', MORNING);
    expect((await carl.get('/schedules')).text).toMatch(
      /<details class="confirm"><summary aria-label="Remove schedule morning…">/,
    );
  });

  test('fills its form with a schedule that is to be changed, and replaces it', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'payrun-inbox-'));
    onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
    const { app, person } = await openWebRig(server.url);
    const carl = await person('carl', 'checker');
    await carl.get('/schedules');
    await carl.post('/schedules', { ...MORNING, act: 'inbox', dir });
    const { text } = await carl.get('/schedules?set=morning');
    expect(text).toContain(`value="${dir}"`);
    expect(text).toMatch(/<option value="inbox" selected/);
    await carl.post('/schedules', { ...MORNING, act: 'inbox', dir, cron: '0 7 * * *' });
    const { schedules } = await app.ledger.schedules.read();
    expect(schedules.map((stored) => readSchedule(stored).cron)).toEqual(['0 7 * * *']);
  });

  test('has the stages in which what it reads is paid, in the list, the form and the CSV', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'payrun-inbox-'));
    onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
    const { app, person } = await openWebRig(server.url);
    const carl = await person('carl', 'checker');
    await carl.get('/schedules');
    const staged = { ...MORNING, act: 'inbox', dir, stage: '10,rest', goOnIfPaid: 'yes' };
    expect((await carl.post('/schedules', staged)).status).toBe(303);
    const { schedules } = await app.ledger.schedules.read();
    expect(schedules.map((stored) => readSchedule(stored).act)).toEqual([
      { kind: 'inbox', dir, stages: { sizes: '10,rest', goesOnIfPaid: true } },
    ]);
    const { text } = await carl.get('/schedules?set=morning');
    const does = `inbox:${dir} in stages 10,rest, each going on by itself if all was paid`;
    expect(text).toContain(does);
    expect(text).toMatch(/name="stage"[^>]*value="10,rest"|value="10,rest"[^>]*name="stage"/);
    expect(text).toMatch(/<input[^>]*checked[^>]*name="goOnIfPaid"/);
    expect((await carl.get('/schedules.csv')).text).toContain(does);
    const { status, text: refused } = await carl.post('/schedules', { ...staged, act: 'start', stage: '10,rest' });
    expect([status, refused.includes('Only a schedule that reads an inbox has stages.')]).toEqual([422, true]);
  });

  test('removes a schedule, and says so when there is none of that name', async () => {
    const { app, person } = await openWebRig(server.url);
    const carl = await person('carl', 'checker');
    await carl.get('/schedules');
    await carl.post('/schedules', MORNING);
    expect((await carl.post('/schedules/remove', { name: 'morning' })).status).toBe(303);
    expect((await app.ledger.schedules.read()).schedules).toEqual([]);
    const again = await carl.post('/schedules/remove', { name: 'morning' });
    expect([again.status, again.text.includes('There is no schedule morning.')]).toEqual([409, true]);
  });

  test('shows the others beside one that another payrun wrote', async () => {
    const { app, person } = await openWebRig(server.url);
    const carl = await person('carl', 'checker');
    await carl.get('/schedules');
    await carl.post('/schedules', MORNING);
    await app.ledger.schedules.set({ name: 'future', definition: '{"v":2}', next: Date.now() + 60_000, setBy: 'eve' });
    const { text } = await carl.get('/schedules');
    expect(text).toContain('this one cannot read it');
    expect(text).toContain('At 06:30');
  });

  test('can be had as CSV, in which nothing is run as a formula', async () => {
    const { person } = await openWebRig(server.url);
    const carl = await person('carl', 'checker');
    await carl.get('/schedules');
    await carl.post('/schedules', MORNING);
    const { headers, text } = await carl.get('/schedules.csv');
    expect(headers.get('content-type')).toContain('text/csv');
    const [row] = parse<Record<string, string>>(text, { columns: true });
    expect(row).toMatchObject({ name: 'morning', does: 'start', cron: '30 6 * * 1-5', windowMinutes: '90' });
    expect(row?.['next']?.split(' ')).toHaveLength(5);
  });
});
