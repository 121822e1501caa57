import { DamageError } from '../problems/damage-error.ts';
import { escapeUnseen } from '../problems/shown-value.ts';
import { isSpreadsheet, type Relation, readPart, readRelations, relationOf, tellPart } from './parts.ts';
import { openSheetReader } from './sheet.ts';
import { damaged, type Zip } from './zip.ts';

/** Where the parts of a workbook that matter lie. */
export interface Workbook {
  readonly sheets: readonly Sheet[];
  readonly sharedTexts: string | undefined;
  readonly styles: string | undefined;
}

export interface Sheet {
  readonly name: string;
  readonly isHidden: boolean;
  readonly part: string;
}

const SHEETS_MAX = 1000;
const NAMES_SHOWN_MAX = 5;
/** Spreadsheets write no more than 31. */
const NAME_CHARACTERS_MAX = 255;

/** Follows the relations from the archive's root to the sheets. Throws a DamageError where there is no workbook. */
export async function readWorkbook(zip: Zip): Promise<Workbook> {
  const main = targetOf(await readRelations(zip, ''), 'officeDocument');
  if (main === undefined || !zip.has(main)) throw damaged('it is no workbook');
  const relations = await readRelations(zip, main);
  const sheets: Sheet[] = [];
  await readPart(zip, main, {
    open(element) {
      if (!isSpreadsheet(element) || element.local !== 'sheet') return;
      const relation = relations.get(relationOf(element) ?? '');
      // Sheets that only hold a chart have no cells.
      if (relation?.kind !== 'worksheet') return;
      const isHidden = (element.attribute('state') ?? 'visible') !== 'visible';
      const name = element.attribute('name') ?? '';
      if (name.length > NAME_CHARACTERS_MAX) throw damaged('a sheet of it has far too long a name');
      sheets.push({ name, isHidden, part: relation.target });
      if (sheets.length > SHEETS_MAX) throw damaged('it has far too many sheets');
    },
    text() {},
    close() {},
  });
  return { sheets, sharedTexts: targetOf(relations, 'sharedStrings'), styles: targetOf(relations, 'styles') };
}

function targetOf(relations: ReadonlyMap<string, Relation>, kind: string): string | undefined {
  for (const relation of relations.values()) if (relation.kind === kind) return relation.target;
  return undefined;
}

/**
 * The sheet that holds the payouts: the one of this name, or else the only one with values. Undefined when there is none
 * with values; a DamageError when there are several, or when nobody sees it.
 */
export async function chooseSheet(zip: Zip, { sheets }: Workbook, name: string | null): Promise<Sheet | undefined> {
  const candidates =
    name === null ? await sheetsWithValues(zip, sheets) : sheets.filter((sheet) => sheet.name === name);
  const [sheet, ...others] = candidates;
  if (sheet === undefined && name !== null)
    throw sheetDamage(`there is no sheet ${shown(name)}, which the template names`);
  if (others.length > 0) {
    const names = candidates.slice(0, NAMES_SHOWN_MAX).map((one) => shown(one.name));
    const more = candidates.length > NAMES_SHOWN_MAX ? ` and ${candidates.length - NAMES_SHOWN_MAX} more` : '';
    throw sheetDamage(`several sheets have values: ${names.join(', ')}${more}`);
  }
  if (sheet?.isHidden === true) throw sheetDamage(`the sheet ${shown(sheet.name)} is hidden`);
  return sheet;
}

async function sheetsWithValues(zip: Zip, sheets: readonly Sheet[]): Promise<Sheet[]> {
  const found: Sheet[] = [];
  for (const sheet of sheets) if (await hasValues(zip, sheet)) found.push(sheet);
  return found;
}

/** Reads no further than to the first value. */
async function hasValues(zip: Zip, { part }: Sheet): Promise<boolean> {
  let isFound = false;
  const listener = openSheetReader(
    {
      row: ({ cells }) => {
        isFound ||= cells.length > 0;
      },
      hiddenColumns() {},
      merged() {},
    },
    { recordBytesMax: Number.MAX_SAFE_INTEGER },
  );
  for await (const isEnough of tellPart(zip, part, { listener, take: () => isFound })) if (isEnough) return true;
  return false;
}

function shown(name: string): string {
  return `"${escapeUnseen(name)}"`;
}

function sheetDamage(found: string): DamageError {
  return new DamageError({ code: 'E_SHEET', line: null, facts: { found } });
}
