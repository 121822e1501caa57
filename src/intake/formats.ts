import { extname } from 'node:path';
import type { IntakeLimits } from './limits.ts';
import type { Template } from './template/template.ts';

/** How the bytes of a payout file are read: both passes over it do it alike. A bank's statement may be a camt message. */
export interface Reading {
  readonly format: Format | 'camt';
  readonly template: Template;
  readonly limits: IntakeLimits;
}

export type Format = 'csv' | 'xlsx' | 'pain.001';

const BY_EXTENSION: ReadonlyMap<string, Format> = new Map([
  ['.xlsx', 'xlsx'],
  ['.xml', 'pain.001'],
]);

/** The format that a file's name promises; content that is another is refused. */
export function formatOf(fileName: string): Format {
  return BY_EXTENSION.get(extname(fileName).toLowerCase()) ?? 'csv';
}
