import { z } from 'zod';
import { settingsSchema } from './settings.ts';

const said = z.object({
  section: z.string(),
  /** What holds where it is not set, in Markdown. */
  standard: z.string().transform((text) => text || 'none'),
  description: z.string(),
  /** Shown by its fingerprint only. */
  isSecret: z.boolean().default(false),
});

/** A setting with what its schema says of it, in Markdown. */
type SettingLine = z.infer<typeof said> & { readonly name: string };

/** Every setting, in the order of docs/settings.md. */
export const SETTINGS: readonly SettingLine[] = Object.entries(settingsSchema.shape).map(([name, schema]) => ({
  name,
  ...said.parse(schema.meta()),
}));

/** Markdown as a terminal shows it: without the marks and the addresses of links. */
export function plainText(markdown: string): string {
  return markdown.replaceAll(/\[([^[\]]*)\]\([^()]*\)/g, '$1').replaceAll('`', '');
}
