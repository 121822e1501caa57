import { join } from 'node:path';
import { z } from 'zod';
import type { Clock } from '../../clock.ts';
import { openJournal } from '../journal.ts';
import { switchesOfText } from './switch-text.ts';
import { changeSwitches, SWITCH_DEFAULTS, type Switches, type SwitchSettings } from './switches.ts';

const changeRecord = z.object({
  /** Everything that was not set for the process alone goes back to its default first. */
  fromDefaults: z.boolean(),
  /** Texts like `quoteLifeMs=5000`. */
  set: z.array(z.string()),
  at: z.int(),
});

/** The switches of a sandbox's folder. What another process changes counts at once. */
export interface SwitchJournal {
  get(): Switches;
  /** For this process alone, and kept when all others go back to their defaults. Throws a Refusal for an unknown name or a wrong value; then nothing changes. */
  set(changes: SwitchSettings): void;
  /** For good, and for a sandbox that runs on the folder. Throws as `set` does. */
  write(change: { set: readonly string[]; fromDefaults: boolean }): Promise<void>;
  close(): Promise<void>;
}

/** Opens the switches of a folder that is there: at first the defaults with all changes that were written since. */
export async function openSwitches(folder: string, clock: Clock): Promise<SwitchJournal> {
  const journal = await openJournal(join(folder, 'switches.jsonl'), changeRecord);
  let own: SwitchSettings = {};
  let switches = SWITCH_DEFAULTS;

  function current(): Switches {
    for (const { fromDefaults, set } of journal.readNew()) {
      switches = switchesOfText(set, fromDefaults ? changeSwitches(SWITCH_DEFAULTS, own) : switches);
    }
    return switches;
  }

  return {
    get: current,
    set(changes) {
      switches = changeSwitches(current(), changes);
      own = { ...own, ...changes };
    },
    async write({ set, fromDefaults }) {
      const changed = switchesOfText(set, fromDefaults ? SWITCH_DEFAULTS : current());
      journal.append([{ fromDefaults, set: [...set], at: clock.now() }]);
      await journal.synced();
      switches = changed;
    },
    close: () => journal.close(),
  };
}
