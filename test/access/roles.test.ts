import { expect, test } from 'vitest';
import { type Act, KEY_ROLES, may, mayKey, PERMISSIONS, ROLES } from '../../src/access/roles.ts';

/** Each role's letter stands where it may. */
const TABLE: Record<Act, string> = {
  read: 'vmca',
  audit: 'vmca',
  submit: 'mca',
  preview: 'mca',
  pause: 'mca',
  cancel: 'mca',
  halt: 'mca',
  settle: 'mca',
  resume: 'ca',
  approve: 'ca',
  block: 'ca',
  schedule: 'ca',
  settings: 'a',
  users: 'a',
  queues: 'a',
};

test.each(Object.entries(TABLE))('%s is for %s alone', (name, letters) => {
  const act = acts().find((one) => one === name);
  if (act === undefined) throw new Error('there is no such act');
  expect(ROLES.filter((role) => may(role, act)).map((role) => role[0])).toEqual(Array.from(letters));
});

test('a viewer changes nothing', () => {
  expect(acts().filter((act) => may('viewer', act))).toEqual(['read', 'audit']);
});

test('a key does nothing that needs people, whatever its role', () => {
  expect(acts().filter((act) => mayKey('viewer', act))).toEqual(['read']);
  expect(acts().filter((act) => mayKey('maker', act))).toEqual([
    'read',
    'submit',
    'preview',
    'pause',
    'cancel',
    'halt',
  ]);
  expect(KEY_ROLES).toEqual(['viewer', 'maker']);
});

function acts(): Act[] {
  return Object.keys(PERMISSIONS).filter((name): name is Act => name in TABLE);
}
