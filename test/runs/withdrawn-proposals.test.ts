import { expect, test } from 'vitest';
import { systemRandom } from '../../src/clock.ts';
import { openPasswords } from '../../src/people/password.ts';
import { addUser, disableUser, listUsers } from '../../src/people/users.ts';
import { CHEAP } from '../people/people-rig.ts';
import { useHandIns } from './hand-in-desk.ts';

const desk = useHandIns();

test('a proposal to add an admin that was withdrawn after the copy is not confirmed by one person', async () => {
  const { ledger, clock } = desk.app;
  const deps = { ledger, clock, random: systemRandom, passwords: openPasswords(systemRandom, CHEAP) };
  await addUser(deps, { name: 'rita', role: 'admin', actor: 'root' });
  const asked = { name: 'eve', role: 'admin' } as const;
  expect((await addUser(deps, { ...asked, actor: 'mallory' })).kind).toBe('proposed');
  const putBack = await desk.copy();
  // Rita finds it, and withdraws it.
  await disableUser(deps, { name: 'eve', actor: 'rita' });
  expect((await listUsers(deps)).proposals).toEqual([]);
  await putBack();
  await desk.compares();
  expect.soft((await listUsers(deps)).proposals).toEqual([]);
  // Days later somebody else adds a colleague of that name: it is his word alone.
  expect((await addUser(deps, { ...asked, actor: 'bob' })).kind).toBe('proposed');
});
