import { escapeControls } from '../intake/spreadsheet-cell.ts';

/** JSON text that a terminal shows as it is: control and bidirectional characters are escaped, which changes no value. */
export function jsonText(value: unknown): string {
  return escapeControls(JSON.stringify(value));
}
