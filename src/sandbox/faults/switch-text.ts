import type { z } from 'zod';
import {
  ANSWER_DELAYS,
  changeSwitches,
  refuseSwitches,
  SWITCH_DEFAULTS,
  SWITCH_FIELDS,
  type Switches,
  type SwitchSettings,
} from './switches.ts';

type Value = string | number | boolean;

/** A switch as people write and read it. */
export interface SwitchEntry {
  readonly name: string;
  readonly default: Value;
  readonly value: Value;
  readonly meaning: string;
}

/** All switches in the order of their table, with the values that are given. */
export function listSwitches(switches: Switches = SWITCH_DEFAULTS): SwitchEntry[] {
  const fields = new Map<string, z.ZodType>([
    ...Object.entries(SWITCH_FIELDS),
    ...Object.entries(ANSWER_DELAYS).map(([name, field]) => [`answerDelayMs.${name}`, field] as const),
  ]);
  const defaults = new Map(valuesOf(SWITCH_DEFAULTS));
  return valuesOf(switches).map(([name, value]) => ({
    name,
    default: defaults.get(name) ?? '',
    value,
    meaning: fields.get(name)?.description ?? '',
  }));
}

function valuesOf({ answerDelayMs, ...others }: Switches): [string, Value][] {
  const delays = Object.entries(answerDelayMs).map(([name, value]): [string, Value] => [
    `answerDelayMs.${name}`,
    value,
  ]);
  return [...delays, ...Object.entries(others)];
}

/** Settings as texts that `switchesOfText` reads. */
export function textsOfSwitches({ answerDelayMs = {}, ...others }: SwitchSettings): string[] {
  const delays = Object.entries(answerDelayMs).map(([name, value]) => `answerDelayMs.${name}=${value}`);
  return [...delays, ...Object.entries(others).map(([name, value]) => `${name}=${value}`)];
}

/** Switches after texts as `settingsOfText` reads them. */
export function switchesOfText(assignments: readonly string[], current: Switches = SWITCH_DEFAULTS): Switches {
  return changeSwitches(current, settingsOfText(assignments));
}

/**
 * What texts like `quoteLifeMs=5000` and `answerDelayMs.payments=200` set. Throws a Refusal for an unknown
 * name or a wrong value.
 */
export function settingsOfText(assignments: readonly string[]): SwitchSettings {
  let settings: SwitchSettings = {};
  for (const assignment of assignments) {
    const at = assignment.indexOf('=');
    if (at < 1) throw refuseSwitches([`${assignment}: write name=value`]);
    const { answerDelayMs, ...setting } = settingOfText(assignment.slice(0, at), assignment.slice(at + 1));
    const delays =
      answerDelayMs === undefined ? {} : { answerDelayMs: { ...settings.answerDelayMs, ...answerDelayMs } };
    settings = { ...settings, ...setting, ...delays };
  }
  changeSwitches(SWITCH_DEFAULTS, settings);
  return settings;
}

function settingOfText(name: string, text: string): SwitchSettings {
  const [outer = '', inner] = name.split('.');
  const known: unknown = Object.entries(SWITCH_DEFAULTS).find(([key]) => key === outer)?.[1];
  if (inner !== undefined) return { [outer]: { [inner]: numberOfText(text) } };
  if (typeof known === 'number') return { [outer]: numberOfText(text) };
  if (typeof known === 'boolean' && (text === 'true' || text === 'false')) return { [outer]: text === 'true' };
  return { [outer]: text };
}

function numberOfText(text: string): number {
  return /^-?[0-9]{1,15}(\.[0-9]{1,15})?$/.test(text) ? Number.parseFloat(text) : Number.NaN;
}
