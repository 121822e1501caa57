import { writeFileSync } from 'node:fs';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Droppers } from '../../src/config/inbox.ts';
import { dropperOf, inboxSetting } from '../../src/config/inbox.ts';
import { readInbox } from '../../src/inbox/read-inbox.ts';
import { readRun } from '../../src/runs/read-run.ts';
import { scheduleChangesOf, scheduleChangeWords } from '../../src/runs/schedule-changes.ts';
import { openBox, payouts, watching } from '../inbox/rig.ts';
import { openTestApp } from '../runs/opened-app.ts';
import { useTestRedis } from '../support/redis.ts';

const server = await useTestRedis();

const UID = process.getuid?.() ?? 0;

describe('a file that lies in an inbox', () => {
  test('was put there by its owner, else by whom the folder names, else by nobody', () => {
    const droppers = { owners: new Map([[1001, 'mia']]), folders: new Map([['/srv/in', 'anna']]) };
    expect(dropperOf(droppers, { inbox: '/srv/in', owner: 1001 })).toBe('mia');
    expect(dropperOf(droppers, { inbox: '/srv/in', owner: 1002 })).toBe('anna');
    expect(dropperOf(droppers, { inbox: '/srv/in', owner: null })).toBe('anna');
    expect(dropperOf(droppers, { inbox: '/srv/other', owner: 1002 })).toBeUndefined();
  });

  const mine = new Map([[UID, 'mia']]);
  const others = new Map([[UID + 1, 'mia']]);
  test.each<{ whose: string; owners: Droppers['owners']; dropper?: string; expected: string }>([
    { whose: 'its owner', owners: mine, expected: 'mia' },
    { whose: 'nobody', owners: others, expected: '' },
    { whose: 'whoever is named for all its files', owners: mine, dropper: 'carl', expected: 'carl' },
  ])('is a run with the name of $whose', async ({ owners, dropper, expected }) => {
    const app = await openTestApp(server.url);
    const box = openBox();
    onTestFinished(async () => {
      box.remove();
      await app.close();
    });
    const inbox = { owners, folders: new Map() };
    await readInbox({ ...app, config: { ...app.config, inbox } }, box.source, watching());
    writeFileSync(box.at('in/a.csv'), payouts('A'));
    await readInbox({ ...app, config: { ...app.config, inbox } }, box.source, { ...watching(), dropper });
    const run = await readRun(app, box.ack('a.csv').runId);
    const told = await scheduleChangesOf(app.ledger, { ...run, state: 'awaiting-approval' });
    const words = told.map(scheduleChangeWords);
    const first = `clerk watches the inbox ${box.source.name} for the first time`;
    expect(words).toEqual(
      dropper === undefined ? [first] : [first, first.replace('for the first time', 'under other settings')],
    );
    expect({ createdBy: run.createdBy, dropper: run.dropper }).toEqual({ createdBy: 'clerk', dropper: expected });
  });
});

test('a change of the settings of inboxes is told with the next approval, once, and not when nothing changed', async () => {
  const app = await openTestApp(server.url);
  const box = openBox();
  onTestFinished(async () => {
    box.remove();
    await app.close();
  });
  const read = async (owners: Droppers['owners']): Promise<void> => {
    const inbox = { owners, folders: new Map() };
    await readInbox({ ...app, config: { ...app.config, inbox } }, box.source, watching());
  };
  const run = { state: 'awaiting-approval', createdAt: app.clock.now(), dropper: '' } as const;
  for (const owners of [[], [], [[UID, 'mia']], [[UID, 'mia']], []] as const) await read(new Map(owners));
  const does = (await scheduleChangesOf(app.ledger, run)).map((change) => change.does);
  expect(does).toEqual(['first', 'anew', 'anew']);
});

describe('the setting', () => {
  test('names folders from its own folder on, and addresses as they are', () => {
    const folders = { in: 'anna', '/srv/in': 'bob', 'sftp://payrun@files.example.com/in': 'carl' };
    const { data } = inboxSetting('/etc/payrun').safeParse({ owners: { 1001: 'mia' }, folders });
    expect(data?.owners).toEqual(new Map([[1001, 'mia']]));
    expect([...(data?.folders ?? [])]).toEqual([
      ['/etc/payrun/in', 'anna'],
      ['/srv/in', 'bob'],
      ['sftp://payrun@files.example.com/in', 'carl'],
    ]);
  });

  test.each([
    { owners: { mia: 'mia' } },
    { owners: { '-1': 'mia' } },
    { owners: { 1001: '' } },
    { folders: { '': 'mia' } },
    { files: {} },
  ])('is refused as %j', (setting) => {
    expect(inboxSetting('/etc').safeParse(setting).success).toBe(false);
  });
});
