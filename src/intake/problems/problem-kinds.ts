/** What a problem does: refuses the whole file, refuses its row, or only warns. */
export type Verdict = 'file' | 'row' | 'warning';

export interface ProblemKind {
  readonly verdict: Verdict;
  /** Sentences in which {name} stands for a fact of the case; `found` says what exactly was seen. */
  readonly message: string;
  readonly remedy: string;
}

const CSV_UTF8 = 'In a spreadsheet choose "Save as" and the file type "CSV UTF-8 (comma delimited)".';
const FORMAT_AS_TEXT = 'Format the column as text in the spreadsheet, enter the value again and export the file again.';

const KINDS = {
  E_EMPTY: {
    verdict: 'file',
    message: 'The file is empty.',
    remedy: 'Export the payouts again: a payout file has a header line and one line for each payout.',
  },
  E_NO_ROWS: {
    verdict: 'file',
    message: 'The file has a header line but no payouts.',
    remedy: 'Export the payouts again: each payout is one line below the header.',
  },
  E_TYPE: {
    verdict: 'file',
    message: 'The file is {found}, and not {expected}, as its name says.',
    remedy:
      'Hand in the file itself, not packed and not renamed: a workbook as .xlsx, a payment message as .xml, CSV under ' +
      `any other name. ${CSV_UTF8}`,
  },
  E_ENCODING: {
    verdict: 'file',
    message: 'The text of the file is not UTF-8: {found}.',
    remedy: `${CSV_UTF8} A payment message has to be made in UTF-8.`,
  },
  E_NEWLINE: {
    verdict: 'file',
    message: 'The line ends of the file are not reliable: {found}.',
    remedy: 'Export the file again so that all lines end alike, with LF or with CR LF. Do not join files by hand.',
  },
  E_DELIMITER: {
    verdict: 'file',
    message: 'The columns are separated by {found}, not by {expected}.',
    remedy:
      'Export the file again with {expected} between the columns, or name a template that says what stands there.',
  },
  E_HEADER: {
    verdict: 'file',
    message: 'The header line is wrong: {found}.',
    remedy:
      'The first line names the columns exactly, in any order. Required: {required}. Optional: {optional}. ' +
      'A template may name others.',
  },
  E_HEADER_DUP: {
    verdict: 'file',
    message: 'The header line has this column {found} times.',
    remedy: 'Keep only one column with this name.',
  },
  E_COLUMNS: {
    verdict: 'file',
    message: 'The line has {found} cells where the header line has {expected}.',
    remedy: 'Look for a missing or extra delimiter; a cell that contains one must be in double quotes.',
  },
  E_QUOTE: {
    verdict: 'file',
    message: 'The double quotes do not match: {found}.',
    remedy:
      'Put the whole cell in double quotes and write each double quote inside it twice. ' +
      'Leave out tricks such as ="00123": write numbers as they are.',
  },
  E_BLANK_ROW: {
    verdict: 'file',
    message: 'There is a blank line in the middle of the file.',
    remedy: 'Remove the blank line, and check whether rows are missing there.',
  },
  E_TRUNCATED: {
    verdict: 'file',
    message: 'The last line has no line end, so the file may have been cut off and its last cell may be incomplete.',
    remedy:
      'Compare the last row with its source and export the file again; a complete file ends with a line end. ' +
      'Totals confirm only a last column that is the amount; a SHA-256 in a manifest confirms any.',
  },
  E_RECORD_SIZE: {
    verdict: 'file',
    message: 'The row is longer than {limit} bytes.',
    remedy: 'Look for a cell with far too much text.',
  },
  E_TOO_MANY_ROWS: {
    verdict: 'file',
    message: 'The file has more than {limit} rows.',
    remedy: 'Split it into several files.',
  },
  E_FILE_SIZE: {
    verdict: 'file',
    message: 'The file has more than {limit} bytes.',
    remedy: 'Split it into several files.',
  },
  E_TOTALS: {
    verdict: 'file',
    message: 'The control totals do not match: {found}.',
    remedy:
      'Compare the file with its source: rows may be missing, be there twice or have been changed. Correct the file, or the totals if they are wrong.',
  },
  E_CHECKSUM: {
    verdict: 'file',
    message:
      'The SHA-256 of the file is {found}, where {expected} was expected: these are not the bytes that were promised.',
    remedy: 'Fetch the file again from its source.',
  },
  E_MANIFEST: {
    verdict: 'file',
    message: 'The manifest beside the file cannot be used: {found}.',
    remedy:
      'Write it as {"rows": 2, "totals": {"USD": "1234.56"}, "sha256": "…"}, each of the three optional, or remove it.',
  },
  E_FIXED: {
    verdict: 'file',
    message: 'The cell differs from the template, which has one value for all rows.',
    remedy: 'Check that this is the right file and the right template. Leave the cell empty or correct it.',
  },
  E_WORKBOOK: {
    verdict: 'file',
    message: 'The workbook cannot be read: {found}.',
    remedy: 'Open it in a spreadsheet and save it again as .xlsx, or as CSV UTF-8.',
  },
  E_SHEET: {
    verdict: 'file',
    message: 'It is not clear which sheet holds the payouts: {found}.',
    remedy: 'Keep values in one visible sheet only, or name the sheet in the template.',
  },
  E_HIDDEN: {
    verdict: 'file',
    message: 'The sheet has hidden values: {found} is hidden.',
    remedy: 'Show all rows and columns, remove filters, and delete what is not to be paid.',
  },
  E_MERGED: {
    verdict: 'file',
    message: 'Cells are merged: {found}.',
    remedy: 'Unmerge them, so that each row has its own cells, and fill them in.',
  },
  E_UNPACKED_SIZE: {
    verdict: 'file',
    message: 'The workbook holds more than {limit} bytes when it is unpacked.',
    remedy: 'Save it as CSV UTF-8, or split it into several files.',
  },
  E_UNREADABLE_FILE: {
    verdict: 'file',
    message: 'The file could not be read, twice: {found}.',
    remedy: 'Save it again in the program that it comes from, or as CSV UTF-8; split it if it is very large.',
  },
  E_MESSAGE: {
    verdict: 'file',
    message: 'The payment message cannot be used: {found}.',
    remedy:
      'Hand in a whole ISO 20022 pain.001.001.03, .08, .09, .10 or .11 in UTF-8, whose ids have 1 to 35 characters and no blanks around them, ' +
      'and name a template with a part pain001.',
  },
  E_EMPTY_ROW: {
    verdict: 'row',
    message: 'The row has no values at all, and rows with values follow it.',
    remedy: 'Remove the row, or fill it in.',
  },
  /** A NUL character is no text at all and refuses the file. */
  E_CONTROL: {
    verdict: 'row',
    message: 'The cell has an invisible character: {found}.',
    remedy: 'Delete the cell and type its value again; copied text often contains such characters.',
  },
  E_REPLACEMENT_CHAR: {
    verdict: 'row',
    message: 'The cell has the sign for a lost character (U+FFFD): the text was damaged before the file was made.',
    remedy: 'Enter the value again from its source.',
  },
  E_SPACE: {
    verdict: 'row',
    message: 'The cell begins or ends with a blank.',
    remedy: 'Remove the blanks around the value, also after commas.',
  },
  E_QUOTE_CHAR: {
    verdict: 'row',
    message: 'The value begins or ends with a quotation mark or an apostrophe.',
    remedy: 'Remove it. Only plain double quotes around a whole cell are not part of its value.',
  },
  E_FORMULA: {
    verdict: 'row',
    message: 'The cell looks like a spreadsheet formula.',
    remedy: 'Put the value itself in the cell, without = + - or @ before it or behind a semicolon.',
  },
  E_EXCEL_ERROR: {
    verdict: 'row',
    message: 'The cell has a spreadsheet error instead of a value.',
    remedy: 'Correct the formula (or widen the column) in the spreadsheet and export the file again.',
  },
  E_PLACEHOLDER: {
    verdict: 'row',
    message: 'The cell has a word that means no value.',
    remedy: 'Enter the value, or leave the cell empty if the column is optional.',
  },
  E_SCIENTIFIC: {
    verdict: 'row',
    message: 'The value is written with an exponent: a spreadsheet has changed it and digits may be lost.',
    remedy: FORMAT_AS_TEXT,
  },
  E_REFERENCE: {
    verdict: 'row',
    message: 'The reference {found}.',
    remedy: "Use 1 to 36 of A-Z, a-z, 0-9, blank and . _ / # - + : ( ) , ' and begin with a letter or digit.",
  },
  E_DUP_REF: {
    verdict: 'row',
    message:
      'The reference is also that of line {other}. Capital letters, blanks, full stops at the end and characters ' +
      'that cannot be seen make no difference.',
    remedy: 'If it is the same payout, remove one of the rows; if not, give each payout its own reference.',
  },
  E_BENEFICIARY: {
    verdict: 'row',
    message: 'The beneficiary identity id {found}.',
    remedy:
      'Copy the id of the beneficiary from the payments service, such as 7d9f1c1e-5f0a-4c56-9f5e-2b1d3c4a5e6f. ' +
      'If this is a line of totals, remove it.',
  },
  E_ORIGINATOR: {
    verdict: 'row',
    message: 'The originator identity id {found}.',
    remedy: 'Copy the id of the originator from the payments service, or leave the cell empty to pay for yourself.',
  },
  E_AMOUNT: {
    verdict: 'row',
    message: 'The amount {found}.',
    remedy: 'Write it as {example}: digits and one decimal mark, nothing else.',
  },
  E_AMOUNT_SCALE: {
    verdict: 'row',
    message: 'The amount has more decimals than {currency} has, which is {digits}.',
    remedy: 'Check whether the point was meant to separate thousands; otherwise round the amount in your own books.',
  },
  E_AMOUNT_RANGE: {
    verdict: 'row',
    message: 'The amount is not between 1 and 100,000,000.',
    remedy: 'Correct the amount, or split a payout that is larger.',
  },
  E_AMOUNT_TYPE: {
    verdict: 'row',
    message: 'The amount type {found}.',
    remedy: 'Write SOURCE_AMOUNT or DESTINATION_AMOUNT; an empty cell means SOURCE_AMOUNT.',
  },
  E_CURRENCY: {
    verdict: 'row',
    message: 'The currency {found}.',
    remedy: 'Write the code of a currency in use in three capital letters, such as USD.',
  },
  E_COUNTRY: {
    verdict: 'row',
    message: 'The country {found}.',
    remedy: 'Write the code of the country in two capital letters, such as MX, or leave the cell empty.',
  },
  E_CATEGORY: {
    verdict: 'row',
    message: 'The category {found}.',
    remedy: 'Use a category that the payments service knows, such as BANK, or leave the cell empty.',
  },
  E_PURPOSE_CODE: {
    verdict: 'row',
    message: 'The purpose code {found}.',
    remedy: 'Use 1 to 35 of A-Z, a-z, 0-9, _ and - or leave the cell empty.',
  },
  E_SOURCE_OF_CASH: {
    verdict: 'row',
    message: 'The source of cash {found}.',
    remedy:
      'Use one of the 16 codes of the payments service in capital letters, such as COMP, or leave the cell empty.',
  },
  E_NOT_ALLOWED: {
    verdict: 'row',
    message: 'The template does not allow this value in this column.',
    remedy: 'Use one of the values that the template names.',
  },
  E_LIMIT: {
    verdict: 'row',
    message: 'The amount may not be paid: {found}.',
    remedy: 'Correct the amount, or ask the owner of the template to change its limit.',
  },
  W_IDENTITY: {
    verdict: 'warning',
    message: 'The payments service does not list this {found}; it may leave some out of its list.',
    remedy: 'Check the id. If it is wrong, the service refuses the quote for its payouts, and nothing is paid.',
  },
  E_DATE: {
    verdict: 'row',
    message: 'The cell has a date, but a payout has no dates: a spreadsheet may have changed a number into it.',
    remedy: FORMAT_AS_TEXT,
  },
  E_NUMBER_FORMAT: {
    verdict: 'row',
    message: 'The cell shows something other than its value: {found}.',
    remedy: 'Enter the right value, in a cell formatted as text or as a plain number.',
  },
  E_PRECISION: {
    verdict: 'row',
    message: 'The number has more than {limit} digits, which spreadsheets do not keep.',
    remedy: FORMAT_AS_TEXT,
  },
  /** Outside of a transfer it refuses the message. */
  E_ELEMENT: {
    verdict: 'row',
    message: 'The payment message asks for something that payrun cannot do, and does not ignore: {found}.',
    remedy: 'Remove the element where the message is made.',
  },
  W_MOJIBAKE: {
    verdict: 'warning',
    message: 'The text looks as if it had been read in the wrong encoding before the file was made.',
    remedy: 'Check the value; if it is wrong, export the file again as CSV UTF-8.',
  },
  W_LONG_NUMBER: {
    verdict: 'warning',
    message: 'The reference is a long number that ends in zeros: spreadsheets keep only the first 15 digits.',
    remedy: 'Compare it with its source.',
  },
  W_SCIENTIFIC: {
    verdict: 'warning',
    message: 'The reference may be a number with an exponent, which a spreadsheet makes of a long number.',
    remedy: 'Compare it with its source; if it differs, format the column as text and export the file again.',
  },
  W_DATE: {
    verdict: 'warning',
    message: 'The reference looks like a date, which a spreadsheet makes of numbers such as 4-2026.',
    remedy: 'Compare it with its source; if it differs, format the column as text and export the file again.',
  },
  W_ROWS_IGNORED: {
    verdict: 'warning',
    message: '{found} lines without values at the end of the file were left out.',
    remedy: 'You do not have to do anything.',
  },
} as const satisfies Record<string, ProblemKind>;

/** Stable codes: E_ refuses, W_ warns. */
export type ProblemCode = keyof typeof KINDS;

/** The one table of what can be wrong with a payout file. */
export const PROBLEM_KINDS: Readonly<Record<ProblemCode, ProblemKind>> = KINDS;
