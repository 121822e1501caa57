import { describe, expect, test } from 'vitest';
import { systemRandom } from '../../src/clock.ts';
import { commonPasswords } from '../../src/people/common-passwords.ts';
import { isShortPassword, openPasswords, PASSWORD_ADVICE, passwordProblem } from '../../src/people/password.ts';
import { CHEAP } from './people-rig.ts';

const common = await commonPasswords();
const cheap = openPasswords(systemRandom, CHEAP);

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

describe('a password', () => {
  test.each([
    ['four random words here'],
    ['tr0ub4dor'],
    ['72945180364'],
    ['пароль для выплат'],
    ['        x y z w'],
    ['🐢🐙🦊🐻🐼🐨🐸🐵'],
    ['x'.repeat(60) + 'anything else'.repeat(15)],
  ])('may be %j: no kinds of characters are asked for', (password) => {
    expect(passwordProblem(password, 'anna', common)).toBeUndefined();
  });

  test.each<[password: string, says: RegExp]>([
    ['', /fewer than 8 characters\. Take at least 8;/],
    ['seven77', /fewer than 8/],
    // Eight units of UTF-16, and four characters.
    ['🐢🐙🦊🐻', /fewer than 8/],
    [`${'x'.repeat(100)}abcdefgh${'y'.repeat(149)}`, /more than 256/],
    ['password', /first that others would try/],
    ['PassWord123!', /first that/],
    ['12345678', /first that/],
    ['0987654321', /first that/],
    ['abcdefghij', /first that/],
    ['aaaaaaaaaaaaaaaaaaaa', /first that/],
    ['ababababababab', /first that/],
    ['payrun2026', /first that/],
    ['payrun-payrun', /first that/],
    ['anna.berg1990', /first that/],
    ['annaanna', /first that/],
    ['Anna-Payrun', /first that/],
    ['passwordpassword', /first that/],
    ['iloveyou!!!', /first that/],
  ])('may not be %j', (password, says) => {
    expect(passwordProblem(password, 'Anna.Berg', common)).toMatch(says);
  });

  test('that may be taken is still short below 15 characters, which the advice names', () => {
    expect(isShortPassword('x'.repeat(14))).toBe(true);
    expect(isShortPassword('x'.repeat(15))).toBe(false);
    expect(PASSWORD_ADVICE).toContain('15 characters');
  });

  test.each<[how: string, vary: (word: string) => string]>([
    ['as it is', (word) => word],
    ['in capitals', (word) => word.toUpperCase()],
    ['with a digit behind', (word) => `${word}1`],
    ['with a capital, a year and a sign', (word) => `${capital(word)}2026!`],
    ['with digits before', (word) => `123${word}`],
    ['between signs', (word) => `**${word}**`],
    ['twice', (word) => word + word],
    ['backwards', (word) => `${Array.from(word).toReversed().join('')}99`],
    ['with signs for letters', (word) => `${word.replaceAll('a', '@').replaceAll('e', '3').replaceAll('o', '0')}1!`],
  ])('may be none of the 3,000 most common ones, %s', (_how, vary) => {
    expect(common.size).toBeGreaterThan(3000);
    const taken = [...common].filter((word) => passwordProblem(vary(word), 'anna', common) === undefined);
    expect(taken).toEqual([]);
  });

  test.each(['P@ssw0rd2026', 'Tr0j4n1!', '1l0v3y0u', '$unsh1ne', 'drowssap123', 'Liverpool-Chelsea', 'dragon_monkey7'])(
    'is no better than a common one as %j',
    (password) => {
      expect(passwordProblem(password, 'anna', common)).toMatch(/first that/);
    },
  );
});

describe('a hash', () => {
  test('belongs to the password exactly as it was given, to the last character', async () => {
    const long = `${'x'.repeat(255)}y`;
    for (const password of ['correct horse', 'Zu\u0308rich 2026!', ' blanks around ', long]) {
      const hash = await cheap.hash(password);
      expect(await cheap.verify(password, hash)).toBe(true);
      for (const other of [
        password.toUpperCase(),
        password.trim().slice(0, -1),
        `${password} `,
        password.normalize('NFC'),
      ]) {
        expect(await cheap.verify(other, hash)).toBe(other === password);
      }
    }
  });

  test('differs each time, and tells its cost, by which it is read after the cost has changed', async () => {
    const [one, other] = [await cheap.hash('correct horse'), await cheap.hash('correct horse')];
    expect(one).not.toBe(other);
    expect(one).toMatch(/^scrypt\$256\$8\$1\$[\w-]{22}\$[\w-]{43}$/);
    expect(await openPasswords(systemRandom, { N: 2 ** 9, r: 8, p: 1 }).verify('correct horse', one)).toBe(true);
  });

  test('costs 64 MiB and two passes unless told', async () => {
    const passwords = openPasswords(systemRandom);
    const hash = await passwords.hash('correct horse');
    expect(hash).toMatch(/^scrypt\$65536\$8\$2\$/);
    expect(await passwords.verify('correct horse', hash)).toBe(true);
    expect(await passwords.verify('correct horse', undefined)).toBe(false);
  });

  test('of nobody belongs to no password', async () => {
    expect(await cheap.verify('', undefined)).toBe(false);
  });

  test('that is damaged is a fault', async () => {
    await expect(cheap.verify('correct horse', 'scrypt$256$8')).rejects.toThrow('damaged');
  });
});

test('of a thousand at once all but a few are told to come again, and nothing is left waiting', async () => {
  const passwords = openPasswords(systemRandom, CHEAP);
  const hash = await passwords.hash('correct horse');
  const answers = await Promise.all(Array.from({ length: 1000 }, () => passwords.verify('correct horse', hash)));
  expect(answers.filter((answer) => answer === true)).toHaveLength(18);
  expect(answers.filter((answer) => answer === 'busy')).toHaveLength(982);
  expect(await passwords.verify('correct horse', hash)).toBe(true);
});

test('a thousand strangers at once keep no known device waiting: it is looked at next, and never told to come again', async () => {
  const passwords = openPasswords(systemRandom, CHEAP);
  // A look at a stranger takes many times longer, so that whoever is looked at next also ends next.
  const hashes = {
    known: await passwords.hash('correct horse'),
    strangers: await openPasswords(systemRandom, { N: 2 ** 14, r: 8, p: 1 }).hash('correct horse'),
  };
  const order: string[] = [];
  const ask = async (row: 'known' | 'strangers') => {
    const answer = await passwords.verify('correct horse', hashes[row], row);
    if (answer !== 'busy') order.push(row);
    return answer;
  };
  const strangers = Array.from({ length: 1000 }, () => ask('strangers'));
  expect(await Promise.all([ask('known'), ask('known')])).toEqual([true, true]);
  await Promise.all(strangers);
  // Two were being looked at already.
  expect(order.lastIndexOf('known')).toBeLessThanOrEqual(3);
  expect(order).toHaveLength(20);
});
