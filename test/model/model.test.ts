import { describe, expect, test } from 'vitest';
import type { Rules } from './rules.ts';
import { type Found, search } from './search.ts';
import { breachOf, firstWorld, type Left, NOTHING } from './state.ts';
import { nextOf } from './world.ts';

const RULES: Rules = {
  armingComparesReference: true,
  allowingTakesReference: true,
  decisionsAreCompared: true,
  copyGetsNewId: true,
  writeOffDoubtsHeld: true,
  nothingEndsInClosedSeason: true,
  doubtVoidsProposal: true,
  everyEntryIsCompared: true,
  allowingComparesOther: true,
};

/** What may happen, and how often; everything else is unbounded. */
interface Room {
  readonly left: Partial<Left>;
  /** Hosts that have noted each other. */
  readonly hosts: 'a' | 'ab';
  /** How many acts are made one after another; more than there can be, where every state is reached. */
  readonly depthMax: number;
}

const ALL = 99;
const RESTORE = { armings: 2, copies: 1, restores: 1 } as const;

const ROOMS = {
  'a retry file or a corrected file': {
    left: { ...RESTORE, refusals: 1, cancels: 1 },
    hosts: 'a',
    depthMax: ALL,
  },
  'two people who allow': { left: { ...RESTORE, allowings: 2 }, hosts: 'a', depthMax: ALL },
  'a halt and a cancelled run': { left: { ...RESTORE, armings: 1, halts: 1, cancels: 1 }, hosts: 'a', depthMax: ALL },
  'decisions at two hosts': {
    left: { ...RESTORE, files: 1, armings: 1, blocks: 1, settings: 2 },
    hosts: 'ab',
    depthMax: ALL,
  },
  'a directory that is copied': { left: { ...RESTORE, clones: 1 }, hosts: 'a', depthMax: ALL },
  'a directory that is put back': { left: { ...RESTORE, savings: 1, losses: 1 }, hosts: 'a', depthMax: ALL },
  'a host that is lost, and people who allow': {
    left: { ...RESTORE, files: 1, losses: 1, limits: 1, allowings: 2 },
    hosts: 'ab',
    depthMax: ALL,
  },
  'a host that is lost, and a cancelled run': {
    left: { ...RESTORE, losses: 1, cancels: 1 },
    hosts: 'ab',
    depthMax: 10,
  },
} as const satisfies Record<string, Room>;

/** Fewer would be a room in which hardly anything happens. */
const STATES_MIN = 10_000;

function searchRoom({ left, hosts, depthMax }: Room, rules: Rules): Found {
  const first = firstWorld({ ...NOTHING, ...left }, hosts);
  return search({ first, next: nextOf(rules), breach: breachOf, depthMax });
}

describe('across a restore of Redis no reference is paid twice, and nothing that people stopped is paid, whatever happens with', () => {
  test.each(Object.entries(ROOMS))('%s', (name, room) => {
    const { states, depth, breach, isExhausted } = searchRoom(room, RULES);
    console.log(`${name}: ${states} states, ${isExhausted ? 'all' : 'not all'}, ${depth} acts deep`);
    expect(breach?.trace.join('\n')).toBeUndefined();
    expect({ isExhausted, isDeep: depth >= 10 }).toEqual({ isExhausted: room.depthMax === ALL, isDeep: true });
    expect(states).toBeGreaterThan(STATES_MIN);
  });
});

const WITHOUT: readonly (readonly [keyof Rules, keyof typeof ROOMS, string])[] = [
  ['armingComparesReference', 'a retry file or a corrected file', 'paid twice'],
  ['allowingTakesReference', 'two people who allow', 'paid twice'],
  ['decisionsAreCompared', 'a halt and a cancelled run', 'what people stopped is paid'],
  ['copyGetsNewId', 'a directory that is copied', 'paid twice'],
  ['writeOffDoubtsHeld', 'a host that is lost, and people who allow', 'paid twice'],
  ['doubtVoidsProposal', 'a host that is lost, and people who allow', 'paid twice'],
  ['nothingEndsInClosedSeason', 'a host that is lost, and a cancelled run', 'paid twice'],
  ['everyEntryIsCompared', 'decisions at two hosts', 'what people stopped is paid'],
  ['allowingComparesOther', 'two people who allow', 'paid twice'],
];

test.each(WITHOUT)('without the rule %s the shortest way to a breach is found, with %s', (rule, room, broken) => {
  const { breach } = searchRoom(ROOMS[room], { ...RULES, [rule]: false });
  console.log([`without ${rule}: ${breach?.rule}`, ...(breach?.trace ?? [])].join('\n  '));
  expect(breach?.rule).toBe(broken);
});
