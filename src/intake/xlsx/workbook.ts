import { DamageError } from '../damage-error.ts';
import { escapeUnseen } from '../shown-value.ts';
import { isSpreadsheet, readPart, readRelations, relationOf, tellPart } from './parts.ts';
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

/** Follows the relations from the archive's root to the sheets. Throws a DamageError where there is no workbook. */
export async function readWorkbook(zip: Zip): Promise<Workbook> {
  const main = (await readRelations(zip, '')).find(({ kind }) => kind === 'officeDocument')?.target;
  if (main === undefined || !zip.has(main)) throw damaged('it is no workbook');
  const relations = await readRelations(zip, main);
  const partOf = (kind: string): string | undefined => relations.find((one) => one.kind === kind)?.target;
  const sheets: Sheet[] = [];
  await readPart(zip, main, {
    open(element) {
      if (!isSpreadsheet(element) || element.local !== 'sheet') return;
      const id = relationOf(element);
      const relation = relations.find((one) => one.id === id);
      // Sheets that only hold a chart have no cells.
      if (relation?.kind !== 'worksheet') return;
      const isHidden = (element.attribute('state') ?? 'visible') !== 'visible';
      sheets.push({ name: element.attribute('name') ?? '', isHidden, part: relation.target });
    },
    text() {},
    close() {},
  });
  return { sheets, sharedTexts: partOf('sharedStrings'), styles: partOf('styles') };
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
  if (others.length > 0)
    throw sheetDamage(`several sheets have values: ${candidates.map((one) => shown(one.name)).join(', ')}`);
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
