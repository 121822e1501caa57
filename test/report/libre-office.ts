import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'csv-parse/sync';
import { expect } from 'vitest';

/** Whether LibreOffice is installed here. */
export const HAS_LIBRE_OFFICE = spawnSync('soffice', ['--version']).status === 0;

const CSV = 'Text - txt - csv (StarCalc)';
/** UTF-8 from the first line on; of each column the cells as text. */
const AS_TEXT = `${CSV}:44,34,76,1,${Array.from({ length: 80 }, (_, at) => `${at + 1}/2`).join('/')},0,false,false`;
/** What whoever clicks on the file gets at worst: numbers are numbers, and what can be run is run. */
const AS_RUN = `${CSV}:44,34,76,1,,0,false,true,true,false,false,0,true`;
/** Formulas as they stand, not what came of them. */
const WRITTEN = `csv:${CSV}:44,34,76,1,,0,false,true,false,true,false`;

/** A CSV file as LibreOffice reads it, a list of cells a row, without empty ones at the end. */
export interface ReadCsv {
  readonly asText: readonly (readonly string[])[];
  readonly asRun: readonly (readonly string[])[];
}

/** Reads CSV files, by name without ending, through LibreOffice. */
export function readByLibreOffice(texts: ReadonlyMap<string, string>): Map<string, ReadCsv> {
  const folder = mkdtempSync(join(tmpdir(), 'payrun-office-'));
  try {
    const files = [...texts].map(([name, text]) => {
      const file = join(folder, `${name}.csv`);
      writeFileSync(file, text);
      return file;
    });
    const [text, run] = [convert(folder, files, AS_TEXT), convert(folder, files, AS_RUN)];
    return new Map([...texts.keys()].map((name) => [name, { asText: text(name), asRun: run(name) }]));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function convert(folder: string, files: readonly string[], filter: string): (name: string) => string[][] {
  const to = mkdtempSync(join(folder, 'read-'));
  mkdirSync(to, { recursive: true });
  const words = [`-env:UserInstallation=file://${join(folder, 'office')}`, '--headless', `--infilter=${filter}`];
  const { status, stderr } = spawnSync('soffice', [...words, '--convert-to', WRITTEN, '--outdir', to, ...files], {
    encoding: 'utf8',
  });
  expect({ status, stderr }).toMatchObject({ status: 0 });
  return (name) => cellsOf(readFileSync(join(to, `${name}.csv`), 'utf8'));
}

/** The cells of a CSV text, without empty ones at the end of a row. */
export function cellsOf(text: string): string[][] {
  const rows: string[][] = parse(text, { relax_column_count: true, bom: true });
  return rows.map((cells) => cells.slice(0, cells.findLastIndex((cell) => cell !== '') + 1));
}
