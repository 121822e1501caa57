import { open, readdir, readFile, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { ReportHashes } from '../../payout.ts';
import { csvCellTexts } from '../csv.ts';
import { digestOf } from '../files.ts';
import { readRowLine } from '../read-rows.ts';
import { REPORT_COLUMNS, type ReportColumn } from '../row.ts';
import { previousText, readSignature, type SignatureFile } from './signature.ts';
import type { PublicKey } from './signing-key.ts';

/** What the signatures in a folder prove. */
export interface Verified {
  /** Names of the files that are what was signed. */
  readonly proven: readonly string[];
  /** What is not proven, a sentence each, with the name of its file. None: all that was asked about holds. */
  readonly findings: readonly string[];
  /** What a reader should know all the same, such as that there is a newer version. */
  readonly notes: readonly string[];
  /** The signatures that hold, with what they say. */
  readonly signed: readonly SignatureFile[];
}

/** The name of a report, of a final summary or of an audit export, apart from its ending. */
const SIGNED_NAME = /^([A-Za-z0-9-]+\.(?:v[1-9][0-9]{0,8}|audit|summary))\.(csv|json|log|sig)$/;

/**
 * Checks reports and exports of the audit log by their signatures and these public keys: all of a folder, or one file
 * with the signature that lies beside it. Reads nothing else. Throws what the file system says of the path itself.
 */
export async function verifySigned(path: string, keys: readonly PublicKey[]): Promise<Verified> {
  const isFolder = (await stat(path)).isDirectory();
  const folder = isFolder ? path : dirname(path);
  const names = (await readdir(folder)).filter((name) => SIGNED_NAME.test(name)).toSorted();
  const asked = isFolder ? names : [basename(path)];
  const checks = await Promise.all(groupsOf(asked).map((group) => checkGroup({ folder, names, keys }, group)));
  const signed = checks.flatMap((check) => (check.signed === undefined ? [] : [check.signed]));
  return {
    proven: checks.flatMap(({ proven }) => proven),
    findings: [...checks.flatMap(({ findings }) => findings), ...brokenVersions(signed)],
    notes: versionNotes(names, signed, { isFolder }),
    signed,
  };
}

interface Place {
  readonly folder: string;
  /** Those in the folder that may be signed, or sign. */
  readonly names: readonly string[];
  readonly keys: readonly PublicKey[];
}

/** Files with one signature, of which some were asked about. */
interface Group {
  readonly base: string;
  readonly asked: readonly string[];
}

interface Check {
  readonly proven: readonly string[];
  readonly findings: readonly string[];
  readonly signed?: SignatureFile;
}

function groupsOf(asked: readonly string[]): Group[] {
  const groups = new Map<string, string[]>();
  for (const name of asked) {
    const base = SIGNED_NAME.exec(name)?.[1] ?? name;
    groups.set(base, [...(groups.get(base) ?? []), name]);
  }
  return [...groups].map(([base, members]) => ({ base, asked: members }));
}

async function checkGroup(place: Place, { base, asked }: Group): Promise<Check> {
  const name = `${base}.sig`;
  if (!place.names.includes(name)) {
    return { proven: [], findings: asked.map((file) => `${file}: no signature ${name} lies beside it`) };
  }
  const read = readSignature(await readFile(join(place.folder, name), 'utf8'));
  const fault = read === undefined ? 'is no signature of payrun, or was changed' : signatureFault(read, place, base);
  if (read === undefined || fault !== undefined) return { proven: [], findings: [`${name}: ${fault}`] };
  // Of one file that was asked about, the others of its signature need not be here.
  const wanted = read.files.filter((file) => asked.includes(name) || asked.includes(file.name));
  const strangers = asked.filter((one) => one !== name && !read.files.some((file) => file.name === one));
  const faults = await Promise.all(wanted.map((file) => fileFault(place, read, file)));
  return {
    proven: wanted.filter((_file, index) => faults[index] === undefined).map((file) => file.name),
    findings: [
      ...faults.filter((one) => one !== undefined),
      ...strangers.map((one) => `${one}: the signature ${name} does not name it`),
    ],
    signed: read,
  };
}

function signatureFault(read: SignatureFile, { keys }: Place, base: string): string | undefined {
  const key = keys.find(({ id }) => id === read.keyId);
  if (key === undefined) return `it is said to be by the key ${read.keyId}, which is none of those that were given`;
  if (!key.verifies(read.text, read.signature)) return 'it was changed after it was signed';
  const { of = '', run = '', version = '' } = read.facts;
  const named = `${run}.${of === 'report' ? `v${version}` : of}`;
  return named === base ? undefined : `it was made for ${named}, and has another name now`;
}

async function fileFault(
  { folder, names }: Place,
  read: SignatureFile,
  { name, sha256 }: SignatureFile['files'][number],
): Promise<string | undefined> {
  if (!names.includes(name)) return `${name}: it is not here, and its signature is`;
  if ((await digestOf(join(folder, name))) === sha256) return undefined;
  const [csv, json] = ['csv', 'json'].map(
    (ending) => read.files.find((file) => file.name.endsWith(`.${ending}`))?.name,
  );
  const changed = `${name}: it is not what was signed`;
  if (csv === undefined || json === undefined || !names.includes(csv) || !names.includes(json)) return changed;
  const where = await firstDifference(join(folder, csv), join(folder, json));
  return `${changed}: ${where ?? 'its rows are those of the other file; it was changed somewhere else'}`;
}

/** Versions that do not follow the one before, where both are here. */
function brokenVersions(signed: readonly SignatureFile[]): string[] {
  const reports = signed.filter(({ facts }) => facts['of'] === 'report');
  return reports.flatMap(({ facts, files }) => {
    const next = reports.find((one) => one.facts['run'] === facts['run'] && isNext(facts, one.facts));
    const [csv = '', json = ''] = files.map(({ sha256 }) => sha256);
    const hashes: ReportHashes = { version: versionOf(facts), csv, json };
    if (next === undefined || next.facts['previous'] === previousText(hashes)) return [];
    return [`${facts['run']}.v${versionOf(next.facts)}.sig: it follows another v${hashes.version} than the one here`];
  });
}

type Facts = SignatureFile['facts'];

function isNext(facts: Facts, later: Facts): boolean {
  return later['previous']?.startsWith(`v${versionOf(facts)} `) === true;
}

function versionOf(facts: Facts): number {
  return Number.parseInt(facts['version'] ?? '', 10);
}

/** A newer version than the one that was asked about, and versions that are not here. */
function versionNotes(
  names: readonly string[],
  signed: readonly SignatureFile[],
  { isFolder }: { isFolder: boolean },
): string[] {
  const notes = signed.flatMap(({ facts }) => {
    const { run = '', previous = 'none' } = facts;
    const before = previous === 'none' ? undefined : `${run}.${previous.slice(0, previous.indexOf(' '))}`;
    const newest = Math.max(...names.map((name) => versionIn(name, run)));
    const isNewest = facts['of'] !== 'report' || isFolder || newest <= versionOf(facts);
    return [
      ...(isNewest ? [] : [`there is a newer version of this report: ${run}.v${newest}`]),
      ...(before === undefined || names.includes(`${before}.sig`) || !isFolder
        ? []
        : [`${before}, which v${versionOf(facts)} follows, is not here or not signed`]),
    ];
  });
  return [...new Set(notes)];
}

function versionIn(name: string, run: string): number {
  const version = name.startsWith(`${run}.v`) ? /^v([0-9]+)\./.exec(name.slice(run.length + 1))?.[1] : undefined;
  return version === undefined ? 0 : Number.parseInt(version, 10);
}

/** Of reports before they had names. */
const FORMER_COLUMNS = REPORT_COLUMNS.filter((column) => column !== 'beneficiaryName');

/**
 * Where the rows of a report's CSV and of its JSON first differ, for people; undefined where they do not, so that whatever
 * was changed is not in both. Both files are read once, a line at a time. Throws what the file system says.
 */
async function firstDifference(csvPath: string, jsonPath: string): Promise<string | undefined> {
  await using csv = await open(csvPath);
  await using json = await open(jsonPath);
  // Cells hold no line end: a line of the CSV is a row (csv.ts), and in the JSON each row has a line (json.ts).
  const csvLines = csv.readLines()[Symbol.asyncIterator]();
  const jsonLines = json.readLines()[Symbol.asyncIterator]();
  await jsonLines.next();
  const header = textOf(await csvLines.next());
  const columns = [REPORT_COLUMNS, FORMER_COLUMNS].find((known) => known.join(',') === header);
  if (columns === undefined) return 'line 1 of the CSV is not its header';
  for (let line = 2; ; line++) {
    const inCsv = textOf(await csvLines.next());
    const inJson = textOf(await jsonLines.next());
    const row = inJson === undefined || inJson.startsWith(']') ? undefined : inJson;
    if (inCsv === undefined && row === undefined) return undefined;
    if (row === undefined) return `line ${line} of the CSV is a row that the JSON does not have`;
    if (inCsv === undefined) return `line ${line} of the JSON is a row that the CSV does not have`;
    const difference = differenceIn(inCsv, row, columns);
    if (difference !== undefined) return `line ${line}, ${difference}`;
  }
}

function textOf({ done, value }: IteratorResult<string>): string | undefined {
  return done === true ? undefined : value;
}

function differenceIn(csvLine: string, jsonLine: string, columns: readonly ReportColumn[]): string | undefined {
  const row = readRowLine(jsonLine);
  if (row === undefined) return 'which is no row in the JSON';
  const expected = csvCellTexts(row).slice(0, columns.length);
  if (expected.join(',') === csvLine) return undefined;
  let at = 0;
  for (const [index, text] of expected.entries()) {
    const column = columns[index] ?? '';
    const isLast = index === expected.length - 1;
    if (!csvLine.startsWith(isLast ? text : `${text},`, at) || (isLast && csvLine.length > at + text.length)) {
      const found = isLast ? csvLine.slice(at) : csvLine.slice(at).split(',', 1)[0];
      return `column ${column} (line ${row.line} of the payout file): ${found} in the CSV, ${text} in the JSON`;
    }
    at += text.length + 1;
  }
  return undefined;
}
