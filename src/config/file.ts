import { readFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { z } from 'zod';
import { DEFAULT_LIMITS, type IntakeLimits, limitsOfFiles } from '../intake/limits.ts';
import { parseStrictJson } from '../intake/strict-json.ts';
import { codeOf } from '../refusal.ts';
import { type ApprovalRules, approvalSetting } from './approval.ts';
import type { Calendars } from './calendars.ts';
import { calendarsSetting } from './calendars.ts';
import { type InboxSettings, inboxSetting, NO_INBOX_SETTINGS } from './inbox.ts';
import { type Limits, limitsSetting } from './limits.ts';
import { type NotifySettings, noNotifications, notifyParts, notifySettings } from './notify.ts';
import { problemTexts, wordsFor } from './problems.ts';
import { NO_WEB_SETTINGS, type WebSettings, webSetting } from './web.ts';

/** What the JSON file that PAYRUN_CONFIG names says; each of its parts belongs to the folder whose rule it is. */
export interface ConfigFile {
  /** What is read of a file at most. */
  readonly files: IntakeLimits;
  readonly calendars: Calendars;
  readonly limits: Limits | null;
  /** Null: a run is paid as soon as it is recorded. */
  readonly approval: ApprovalRules | null;
  readonly notify: NotifySettings;
  /** Who is taken to hand in what lies in inboxes, and where those may lie. */
  readonly inbox: InboxSettings;
  readonly web: WebSettings;
}

export const NO_CONFIG_FILE: ConfigFile = {
  files: DEFAULT_LIMITS,
  calendars: {},
  limits: null,
  approval: null,
  notify: noNotifications,
  inbox: NO_INBOX_SETTINGS,
  web: NO_WEB_SETTINGS,
};

/** The file's settings, or everything that is wrong with it. Names of files in it begin at its own folder. */
export function readConfigFile(path: string, { httpHost }: { httpHost: string | undefined }): ConfigFile | string[] {
  const parts = parseFile(path, z.strictObject(partsOf({ folder: dirname(path), httpHost })));
  if (Array.isArray(parts)) return parts;
  const notify = notifySettings(parts);
  if ('problem' in notify) return [`${path}: ${notify.problem}: give each a name of its own`];
  return {
    files: parts.files,
    calendars: parts.calendars,
    limits: parts.limits ?? null,
    approval: parts.approval ?? null,
    notify,
    inbox: parts.inbox,
    web: parts.web,
  };
}

/** Its limits of files alone, or what is wrong with them; of other parts only that there are such. */
export function readFilesPart(path: string): IntakeLimits | string[] {
  const { files, ...others } = partsOf({ folder: dirname(path), httpHost: undefined });
  const unread = Object.fromEntries(Object.keys(others).map((name) => [name, z.unknown().optional()]));
  const parts = parseFile(path, z.strictObject({ ...unread, files }));
  return Array.isArray(parts) ? parts : parts.files;
}

function partsOf({ folder, httpHost }: { folder: string; httpHost: string | undefined }) {
  return {
    ...notifyParts({ folder, httpHost }),
    files: limitsOfFiles.default(DEFAULT_LIMITS),
    calendars: calendarsSetting(folder).default({}),
    limits: limitsSetting.optional(),
    approval: approvalSetting.optional(),
    inbox: inboxSetting(folder).prefault({}),
    web: webSetting(folder).default(NO_WEB_SETTINGS),
  };
}

function parseFile<Schema extends z.ZodType>(path: string, schema: Schema): z.output<Schema> | string[] {
  const text = readText(path);
  if (typeof text !== 'string') return [text.problem];
  // What can be read is hardly a secret in the wrong place: people have to know which file it is. What it holds stays unsaid.
  const json = parseStrictJson(text);
  if (json.fault !== undefined) return [`${path}: ${json.fault}`];
  const parsed = schema.safeParse(json.value, { error: wordsFor });
  if (parsed.success) return parsed.data;
  return parsed.error.issues.flatMap(problemTexts).map((problem) => `${path}: ${problem}`);
}

/** What the file holds, or what is wrong with it. The path stays unsaid: it may be a secret that was set in the wrong place. */
function readText(path: string): string | { readonly problem: string } {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    return { problem: `the file that it names cannot be read (${codeOf(error) ?? 'error'})` };
  }
}
