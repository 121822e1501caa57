import { z } from 'zod';
import { settingsSchema } from '../../src/config/settings.ts';

/*
 * docs/settings.md. Written anew with UPDATE_DOCS=1 npx vitest run test/config.test.ts -t "docs/settings.md"
 */

const HEAD = `# Settings

payrun reads its settings from environment variables. Instead of \`NAME\` you may set \`NAME_FILE\`, the path of a file that holds the value: use it for
secrets. payrun refuses a file with a secret that [others may read](security.md#files-with-secrets).

- A duration is an integer with \`ms\`, \`s\`, \`m\`, \`h\` or \`d\`: \`45s\`.
- An unknown name that begins with \`PAYRUN_\` is an error. payrun lists all problems at once and does not start.
- For a service of your own you need the five service settings (\`PAYRUN_SERVICE_URL\`, \`PAYRUN_CLIENT_ID\`, \`PAYRUN_CLIENT_SECRET\`, \`PAYRUN_TENANT_ID\`,
  \`PAYRUN_ENVIRONMENT\`) and \`PAYRUN_DATA_DIR\`. Without them payrun pays through the sandbox.

This page is made from \`src/config/settings.ts\`, and a test compares them.
`;

const FOOT = `
## The file that \`PAYRUN_CONFIG\` names

A JSON file. Each part is optional.

| part | explained in |
|---|---|
| \`webhooks\`, \`mail\`, \`notify\` | [notifications](notifications.md) |
| \`limits\`, \`approval\`, \`files\` | [controls](controls.md) |
| \`calendars\` | [schedules](schedules.md) |
| \`inbox\` | [inbox](inbox.md#for-whoever-keeps-it-running) |
| \`web\` | [web](web.md), [users](users.md) |
`;

interface SettingLine {
  readonly name: string;
  readonly schema: z.ZodType;
  readonly section: string;
  readonly standard: string;
  readonly about: string;
}

/** Each setting with what its schema says of it. */
export function settingLines(): SettingLine[] {
  return Object.entries(settingsSchema.shape).map(([name, schema]) => {
    const said = z.object({ section: z.string(), standard: z.string(), description: z.string() }).parse(schema.meta());
    return { name, schema, section: said.section, standard: said.standard, about: said.description };
  });
}

/** What a value may be, as the reader of the value says it: the innermost schema below defaults and what is optional. */
function takesOf(schema: unknown): string {
  if (!(schema instanceof z.ZodType)) return 'text';
  const takes = schema.meta()?.['takes'];
  if (typeof takes === 'string') return takes;
  return schema instanceof z.ZodOptional || schema instanceof z.ZodDefault ? takesOf(schema.unwrap()) : 'text';
}

/** The text of docs/settings.md. */
export function makeSettingsPage(): string {
  const all = settingLines();
  const sections = [...new Set(all.map(({ section }) => section))];
  const tables = sections.flatMap((section) => [
    `\n## ${section}\n`,
    '| name | value | default | |',
    '|---|---|---|---|',
    ...all
      .filter((setting) => setting.section === section)
      .map(({ name, schema, standard, about }) => `| \`${name}\` | ${takesOf(schema)} | ${standard} | ${about} |`),
  ]);
  return `${[HEAD.trimEnd(), ...tables].join('\n')}\n${FOOT}`;
}
