import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { systemClock, systemRandom } from '../../src/clock.ts';
import { Refusal } from '../../src/refusal.ts';
import { type Fault, planFault } from '../../src/sandbox/faults/faults.ts';
import { REHEARSAL_NAMES, REHEARSALS } from '../../src/sandbox/faults/rehearsals.ts';
import { openSwitches } from '../../src/sandbox/faults/switch-journal.ts';
import { listSwitches, switchesOfText, textsOfSwitches } from '../../src/sandbox/faults/switch-text.ts';
import { changeSwitches, SWITCH_DEFAULTS } from '../../src/sandbox/faults/switches.ts';
import { FAULT_MEANINGS, WIRE_FAULTS } from '../../src/sandbox/faults/table.ts';
import { openDesk, openSandbox, temporaryFolder } from './desk.ts';

const DOCUMENT = readFileSync(resolve(import.meta.dirname, '../../docs/rehearsals.md'), 'utf8');

/** The cells of the document's tables under a heading, without their backquotes. */
function tableUnder(heading: string): string[][] {
  const [, section = ''] = DOCUMENT.split(`\n## ${heading}\n`);
  return (
    section
      .split('\n## ')[0]
      ?.split('\n')
      .filter((line) => /^\| *`/.test(line))
      .map((line) =>
        line
          .slice(1, -1)
          .split(' | ')
          .map((cell) => cell.trim()),
      ) ?? []
  );
}

/** What storm does to 400 requests of each operation. */
function plan(faultSeed: number): { faults: (Fault['at'] | undefined)[]; kinds: string[] } {
  const switches = changeSwitches(SWITCH_DEFAULTS, { ...REHEARSALS.storm.switches, faultSeed });
  const faults: (Fault['at'] | undefined)[] = [];
  const kinds: string[] = [];
  const answer = { status: 201, headers: {}, body: '{}' };
  for (let sequence = 1; sequence <= 400; sequence += 1) {
    for (const operation of ['token', 'quotes', 'payments', 'payment'] as const) {
      const request = { operation, sequence, switches, target: '/', random: systemRandom, now: 0 };
      const fault = planFault(request);
      faults.push(fault?.at);
      kinds.push(fault?.deliver(answer).kind ?? 'none');
    }
  }
  return { faults, kinds };
}

describe('the table of faults', () => {
  test('no name is there twice, and each has its switch, which is off', () => {
    const names = FAULT_MEANINGS.map(({ name }) => name);
    expect(new Set(names).size).toBe(names.length);
    expect(names.map((name) => SWITCH_DEFAULTS[name])).toEqual(names.map(() => 0));
  });

  test('storm is the same for the same seed and order of requests, and another for another seed', () => {
    expect(plan(7)).toEqual(plan(7));
    expect(plan(7)).not.toEqual(plan(8));
    expect(new Set(plan(7).faults)).toEqual(new Set([undefined, ...WIRE_FAULTS.map(({ at }) => at)]));
    expect(new Set(plan(7).kinds)).toEqual(new Set(['none', 'answer', 'cut', 'drip', 'reset', 'half-open', 'silence']));
  });
});

describe("a folder's switches", () => {
  test('what another process writes counts at the next request, and after a restart', async () => {
    const folder = await temporaryFolder();
    const desk = await openDesk({ folder });
    const other = await openSwitches(folder, systemClock);
    expect((await desk.quote()).status).toBe(201);
    await other.write({ set: ['quoteFails=1', 'retryAfter=date+5'], fromDefaults: false });
    expect((await desk.quote()).status).toBe(500);
    await other.write({ set: ['quoteLifeMs=7000'], fromDefaults: true });
    expect((await desk.quote()).status).toBe(201);
    await other.close();
    await desk.sandbox.close();
    const again = await openSandbox({ folder, switches: { emptyQuotes: true } });
    expect(again.switches.get()).toEqual({ ...SWITCH_DEFAULTS, quoteLifeMs: 7000, emptyQuotes: true });
  });

  test('what a running sandbox was started with stays when all others go back to their defaults', async () => {
    const folder = await temporaryFolder();
    const sandbox = await openSandbox({ folder, switches: { acceptsAnyIdentity: true } });
    const other = await openSwitches(folder, systemClock);
    await other.write({ set: ['quoteFails=1'], fromDefaults: false });
    await other.write({ set: [], fromDefaults: true });
    await other.close();
    expect(sandbox.switches.get()).toEqual({ ...SWITCH_DEFAULTS, acceptsAnyIdentity: true });
  });

  test('a wrong one is refused and nothing is written', async () => {
    const folder = await temporaryFolder();
    const switches = await openSwitches(folder, systemClock);
    await expect(switches.write({ set: ['tooMany=1', 'tooMany=2'], fromDefaults: false })).rejects.toThrow(Refusal);
    expect(switches.get()).toEqual(SWITCH_DEFAULTS);
    await switches.close();
    expect(readFileSync(join(folder, 'switches.jsonl'), 'utf8')).toBe('');
  });
});

describe('rehearsals', () => {
  test.each(REHEARSAL_NAMES)('%s can be written as text, and reads the same', (name) => {
    const { switches } = REHEARSALS[name];
    const expected = changeSwitches(SWITCH_DEFAULTS, switches);
    expect(switchesOfText(textsOfSwitches(switches))).toEqual(expected);
  });

  test('storm strikes a fifth of the payment requests', () => {
    const switches = changeSwitches(SWITCH_DEFAULTS, REHEARSALS.storm.switches);
    const requests = Array.from({ length: 4000 }, (_, index) => index + 1);
    const struck = requests.filter(
      (sequence) =>
        planFault({ operation: 'payments', sequence, switches, target: '/', random: systemRandom, now: 0 }) !==
        undefined,
    );
    expect(struck.length / requests.length).toBeGreaterThan(0.2);
    expect(struck.length / requests.length).toBeLessThan(0.35);
  });

  test('the document names every mix, and every switch with its default and what it does', () => {
    expect(tableUnder('Mixes')).toEqual(REHEARSAL_NAMES.map((name) => [`\`${name}\``, REHEARSALS[name].meaning]));
    expect(tableUnder('All switches')).toEqual(
      listSwitches().map((one) => [
        `\`${one.name}\``,
        one.default === '' ? '' : `\`${String(one.default)}\``,
        one.meaning,
      ]),
    );
  });

  test.each([
    ['foo=bar', 'foo: no such switch'],
    ['answerDelayMs.foo=1', 'answerDelayMs.foo: no such switch'],
    ['tooMany=2', 'tooMany: must be at most 1'],
    ['tooMany=often', 'tooMany: must be a number'],
  ])('%s is refused in words of its own', (text, words) => {
    expect(() => switchesOfText([text])).toThrow(`A switch of the sandbox is wrong:\n  ${words}`);
  });

  test('every switch says what it does', () => {
    const mute = listSwitches().filter(({ meaning }) => !/^[A-Z].*\.$/.test(meaning));
    expect(mute.map(({ name }) => name)).toEqual([]);
  });
});
