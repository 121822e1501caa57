import { isAbsolute, resolve } from 'node:path';
import { z } from 'zod';
import { personName } from '../access/words.ts';
import type { StagePlan } from '../payout.ts';
import { stageSizes } from './stages.ts';

const DROPPERS_MAX = 1000;

/** Who is taken to hand in what lies in inboxes. */
export interface Droppers {
  /** By the number of the user of this machine who owns the file. */
  readonly owners: ReadonlyMap<number, string>;
  /** By the inbox, as people know it. */
  readonly folders: ReadonlyMap<string, string>;
}

export const NO_DROPPERS: Droppers = { owners: new Map(), folders: new Map() };

/** Where schedules may read inboxes. */
export interface AllowedInboxes {
  /** Absolute; those below them are allowed too. */
  readonly folders: readonly string[];
  /** Of SFTP servers. */
  readonly hosts: readonly string[];
}

/** What PAYRUN_CONFIG says of inboxes. */
export interface InboxSettings extends Droppers {
  /** Null without a settings file: everywhere. */
  readonly allowed: AllowedInboxes | null;
  /** In which the files of inboxes are paid; as a whole unless given. */
  readonly stages?: StagePlan | undefined;
}

export const NO_INBOX_SETTINGS: InboxSettings = { ...NO_DROPPERS, allowed: null };

const stagesSetting = z
  .strictObject({ sizes: stageSizes, goOnIfPaid: z.boolean().default(false) })
  .transform(({ sizes, goOnIfPaid }): StagePlan => ({ sizes, goesOnIfPaid: goOnIfPaid }));

/**
 * The part `inbox` of PAYRUN_CONFIG; folders in it begin at `folder`. Unless it says where inboxes may lie, that is below
 * `folder`, and where it names who hands in.
 */
export function inboxSetting(folder: string) {
  const few = (names: object): boolean => Object.keys(names).length <= DROPPERS_MAX;
  const place = z.string().min(1).max(1000);
  const owner = z.string().regex(/^(?:0|[1-9][0-9]{0,9})$/, 'must be the number of a user, as "id -u NAME" prints it');
  const host = z.string().regex(/^[a-z0-9:._-]{1,255}$/, 'must be the name or address of a host, in lower case');
  return z
    .strictObject({
      owners: z.record(owner, personName).refine(few, `must be at most ${DROPPERS_MAX}`).default({}),
      folders: z.record(place, personName).refine(few, `must be at most ${DROPPERS_MAX}`).default({}),
      allowed: z
        .strictObject({
          folders: z
            .array(place.transform((name) => resolve(folder, name)))
            .max(DROPPERS_MAX)
            .default([]),
          hosts: z.array(host).max(DROPPERS_MAX).default([]),
        })
        .optional(),
      stages: stagesSetting.optional(),
    })
    .transform(({ owners, folders, allowed, stages }): InboxSettings => {
      const named = new Map(Object.entries(folders).map(([name, person]) => [wholeName(folder, name), person]));
      return {
        owners: new Map(Object.entries(owners).map(([number, name]) => [Number.parseInt(number, 10), name])),
        folders: named,
        allowed: allowed ?? placesOf(folder, [...named.keys()]),
        ...(stages === undefined ? {} : { stages }),
      };
    });
}

function placesOf(folder: string, named: readonly string[]): AllowedInboxes {
  const hosts = named
    .filter(isAddress)
    .flatMap((address) => (URL.canParse(address) ? [new URL(address).hostname] : []));
  return { folders: [folder, ...named.filter((name) => !isAddress(name))], hosts };
}

function wholeName(folder: string, name: string): string {
  return isAddress(name) || isAbsolute(name) ? name : resolve(folder, name);
}

/** Whether an inbox is named by an address, such as `sftp://host/in`, and not by a folder. */
export function isAddress(dir: string): boolean {
  return /^[a-z]+:\/\//i.test(dir);
}

/** Who put a file into an inbox: its owner counts for more than the folder. Undefined where nobody is named. */
export function dropperOf(
  { owners, folders }: Droppers,
  { inbox, owner }: { readonly inbox: string; readonly owner: number | null },
): string | undefined {
  return (owner === null ? undefined : owners.get(owner)) ?? folders.get(inbox);
}
