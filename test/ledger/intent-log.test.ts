import { execFileSync } from 'node:child_process';
import {
  fsync as fsyncWithCallback,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { crc32 } from 'node:zlib';
import * as fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { systemClock, systemRandom } from '../../src/clock.ts';
import { type IntentLine, isIntent, writeIntentLine } from '../../src/ledger/intents/intent-line.ts';
import {
  type IntentLog,
  IntentLogFault,
  intentFiles,
  intentsFolder,
  openIntentLog,
  readIntentFile,
} from '../../src/ledger/intents/intent-log.ts';

const fsync = promisify(fsyncWithCallback);

let dataDir: string;
let log: IntentLog;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'payrun-test-'));
  log = openIntentLog(dataDir, { clock: systemClock, random: systemRandom });
});
afterEach(async () => {
  await log.close();
  rmSync(dataDir, { recursive: true });
});

function lineOf(armingCounter: number, other: Partial<IntentLine> = {}): IntentLine {
  return {
    runId: '20260131-abcdef',
    line: armingCounter + 1,
    fileSha256: 'f'.repeat(64),
    referenceHash: '0123456789abcdef',
    attempt: 1,
    quoteId: '3e7a9d24-0b6c-4f18-a52d-9c4be8f1d073',
    quoteExpiresAt: 1_900_000_000_000,
    bodyHash: 'b'.repeat(64),
    armingCounter,
    owner: 'worker-1',
    armedAt: 1_790_000_000_000,
    credentials: 'fingerprint',
    ...other,
  };
}

const lines = (count: number) => Array.from({ length: count }, (_value, index) => lineOf(index + 1));

function files(): string[] {
  return readdirSync(intentsFolder(dataDir))
    .toSorted()
    .map((name) => join(intentsFolder(dataDir), name));
}

/** The lines of a log with this text, and whether one that is not its last is damaged. */
async function readText(text: string): Promise<{ lines: IntentLine[]; damaged: boolean }> {
  const path = join(dataDir, 'written-by-hand.log');
  writeFileSync(path, text);
  return await readLog(path);
}

async function readLog(path: string): Promise<{ lines: IntentLine[]; damaged: boolean }> {
  const read: IntentLine[] = [];
  let damaged = false;
  for await (const line of readIntentFile(path)) {
    if (line === 'damaged') damaged = true;
    else if (isIntent(line)) read.push(line);
  }
  return { lines: read, damaged };
}

/** All lines of the data directory by rising counter, and its damaged files. */
async function readLogs(): Promise<{ lines: IntentLine[]; damagedFiles: string[] }> {
  const all: IntentLine[] = [];
  const damagedFiles: string[] = [];
  for (const path of await intentFiles(dataDir)) {
    const read = await readLog(path);
    all.push(...read.lines);
    if (read.damaged) damagedFiles.push(path);
  }
  return { lines: all.toSorted((a, b) => a.armingCounter - b.armingCounter), damagedFiles };
}

const onDisk = () => files().map((path) => readFileSync(path, 'utf8'));

async function faultOf(work: Promise<unknown>): Promise<IntentLogFault> {
  const caught: unknown = await work.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(caught instanceof IntentLogFault)) throw new Error('there was no fault', { cause: caught });
  return caught;
}

describe('a line', () => {
  test('begins with a line end, then has length, checksum and JSON', () => {
    const json = JSON.stringify(lineOf(1));
    const checksum = crc32(json).toString(16).padStart(8, '0');
    expect(writeIntentLine(lineOf(1))).toBe(`\n${Buffer.byteLength(json)} ${checksum} ${json}`);
  });

  test('comes back as it was written, whatever its texts are', async () => {
    const text = fc.oneof(fc.string(), fc.constantFrom('\n', '\r\n', '\r', '\u0085', 'a"b', '\u0000', '\ud83d\ude00'));
    const word = text.filter((one) => one !== '');
    const line = fc.record({
      runId: word,
      line: fc.integer({ min: 1 }),
      fileSha256: text,
      referenceHash: text,
      attempt: fc.integer({ min: 1 }),
      quoteId: word,
      quoteExpiresAt: fc.option(fc.maxSafeInteger()),
      bodyHash: text,
      armingCounter: fc.integer({ min: 1 }),
      owner: text,
      armedAt: fc.maxSafeInteger(),
      credentials: text,
    });
    await fc.assert(
      fc.asyncProperty(fc.array(line, { maxLength: 5 }), async (all) => {
        expect(await readText(all.map(writeIntentLine).join(''))).toEqual({ lines: all, damaged: false });
      }),
    );
  });

  test('that is cut anywhere at the end of a file is no line, and no damage', async () => {
    const whole = lines(2).map(writeIntentLine).join('');
    const last = writeIntentLine(lineOf(3));
    for (let length = 0; length < last.length; length++) {
      expect(await readText(whole + last.slice(0, length))).toEqual({ lines: lines(2), damaged: false });
    }
  });

  test('that follows a torn one can be read, and the torn one is damage', async () => {
    const [first = '', second = '', third = ''] = lines(3).map(writeIntentLine);
    for (let length = 2; length < second.length; length++) {
      const read = await readText(first + second.slice(0, length) + third);
      expect(read).toEqual({ lines: [lineOf(1), lineOf(3)], damaged: true });
    }
  });

  test('in which any one byte changed is never taken for another line', async () => {
    const [first = '', second = '', third = ''] = lines(3).map(writeIntentLine);
    const bytes = Buffer.from(second);
    for (let at = 1; at < bytes.length; at++) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ 0x01;
      const read = await readText(first + changed.toString('latin1') + third);
      expect([at, read.damaged, read.lines]).toEqual([at, true, [lineOf(1), lineOf(3)]]);
    }
  });

  test('with fields that payrun does not know is damage, not a line without them', async () => {
    const json = JSON.stringify({ ...lineOf(1), more: 1 });
    const text = `\n${json.length} ${crc32(json).toString(16).padStart(8, '0')} ${json}${writeIntentLine(lineOf(2))}`;
    expect(await readText(text)).toEqual({ lines: [lineOf(2)], damaged: true });
  });

  test('of nothing is none', async () => {
    expect(await readText('')).toEqual({ lines: [], damaged: false });
    expect(await readText('\n\n')).toEqual({ lines: [], damaged: false });
  });
});

describe('an intent log', () => {
  test('has a line on disk before its append resolves', async () => {
    for (const line of lines(5)) {
      await log.append(line);
      expect(onDisk().join('')).toContain(writeIntentLine(line));
    }
  });

  test('has many lines of one turn on disk before any of them resolves, each once and in order', async () => {
    await Promise.all(
      lines(200).map(async (line) => {
        await log.append(line);
        expect(onDisk().join('')).toContain(writeIntentLine(line));
      }),
    );
    expect(onDisk()).toEqual([lines(200).map(writeIntentLine).join('')]);
  });

  test('syncs after it wrote and before it resolves, once for the lines of one turn', async () => {
    await log.append(lineOf(1));
    const handle = await open(join(dataDir, 'probe'), 'w');
    const sync = vi.spyOn(Object.getPrototypeOf(handle), 'datasync');
    await handle.close();
    await Promise.all(lines(100).map((line) => log.append(line)));
    expect(sync).toHaveBeenCalledTimes(1);
    await log.append(lineOf(101));
    expect(sync).toHaveBeenCalledTimes(2);
  });

  test('is for this user alone, and a file of each process', async () => {
    const other = openIntentLog(dataDir, { clock: systemClock, random: systemRandom });
    await Promise.all([log.append(lineOf(1)), other.append(lineOf(2))]);
    await other.close();
    expect(files()).toHaveLength(2);
    for (const path of files()) expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(intentsFolder(dataDir)).mode & 0o777).toBe(0o700);
  });

  test('makes no file before its first line', async () => {
    await log.close();
    expect(readdirSync(dataDir)).toEqual([]);
  });

  test('has on disk what was under way when it is closed', async () => {
    const appended = Promise.all(lines(10).map((line) => log.append(line)));
    await log.close();
    await appended;
    expect((await readLogs()).lines).toEqual(lines(10));
  });
});

describe.skipIf(process.platform !== 'linux')('a new intent log', () => {
  test('syncs its file, its folder and the data directory that the folder is in before its first line', async () => {
    const handle = await open(join(dataDir, 'probe'), 'w');
    const synced: string[] = [];
    const prototype: FileHandle = Object.getPrototypeOf(handle);
    vi.spyOn(prototype, 'sync').mockImplementation(async function note(this: FileHandle) {
      synced.push(readlinkSync(`/proc/self/fd/${this.fd}`));
      await fsync(this.fd);
    });
    await handle.close();
    await log.append(lineOf(1));
    expect(synced).toContain(files()[0]);
    expect(synced).toContain(intentsFolder(dataDir));
    expect(synced).toContain(dataDir);
  });
});

function ignoreSignal(): void {}

function limitFileSize(size: string): void {
  execFileSync('prlimit', ['--pid', String(process.pid), `--fsize=${size}`]);
}

/** Lets this process write no file longer than this: the write is cut short there, the next one fails. */
async function withFileLimit(bytes: number, work: () => Promise<void>): Promise<void> {
  process.on('SIGXFSZ', ignoreSignal);
  limitFileSize(`${bytes}:unlimited`);
  try {
    await work();
  } finally {
    limitFileSize('unlimited:unlimited');
    process.off('SIGXFSZ', ignoreSignal);
  }
}

describe.skipIf(process.platform !== 'linux')('a write that fails', () => {
  test('rejects every line of it, says that nothing is known to be wrong with the disk, and the next line is fine', async () => {
    writeFileSync(intentsFolder(dataDir), 'a file where the folder should be');
    const faults = await Promise.all(lines(3).map((line) => faultOf(log.append(line))));
    expect(faults.map(({ poisoned }) => poisoned)).toEqual([false, false, false]);
    expect(faults[0]?.cause).toMatchObject({ code: expect.stringMatching(/EEXIST|ENOTDIR/) });
    rmSync(intentsFolder(dataDir));
    await log.append(lineOf(4));
    expect((await readLogs()).lines).toEqual([lineOf(4)]);
  });

  test('in the middle of a line ends its file: the next line is in a new one, and the logs are sound', async () => {
    const whole = Buffer.byteLength(writeIntentLine(lineOf(1)));
    await withFileLimit(2 * whole + 40, async () => {
      await log.append(lineOf(1));
      await log.append(lineOf(2));
      expect((await faultOf(log.append(lineOf(3)))).poisoned).toBe(false);
      await log.append(lineOf(4));
    });
    expect(files().map((path) => statSync(path).size)).toEqual([2 * whole + 40, whole]);
    expect(await readLogs()).toEqual({ lines: [lineOf(1), lineOf(2), lineOf(4)], damagedFiles: [] });
  });

  test('of many lines at once rejects all of them, also those that are whole on disk', async () => {
    const whole = Buffer.byteLength(writeIntentLine(lineOf(1)));
    await withFileLimit(2 * whole + 40, async () => {
      const results = await Promise.allSettled(lines(5).map((line) => log.append(line)));
      expect(results.map(({ status }) => status)).toEqual(Array.from({ length: 5 }, () => 'rejected'));
    });
    expect(await readLogs()).toEqual({ lines: lines(2), damagedFiles: [] });
  });
});

async function failingSync(): Promise<void> {
  const handle = await open(join(dataDir, 'probe'), 'w');
  const error = Object.assign(new Error('EIO: i/o error, fdatasync'), { code: 'EIO' });
  vi.spyOn(Object.getPrototypeOf(handle), 'datasync').mockRejectedValueOnce(error);
  await handle.close();
}

describe('a sync that fails', () => {
  test('poisons the log: nothing is appended any more, although the disk is fine again', async () => {
    await log.append(lineOf(1));
    await failingSync();
    const failed = await Promise.all([lineOf(2), lineOf(3)].map((line) => faultOf(log.append(line))));
    expect(failed.map(({ poisoned }) => poisoned)).toEqual([true, true]);
    expect(failed[0]?.cause).toMatchObject({ code: 'EIO' });
    const before = onDisk();
    expect((await faultOf(log.append(lineOf(4)))).poisoned).toBe(true);
    expect(onDisk()).toEqual(before);
  });
});

describe('reading the logs of a directory', () => {
  test('gives the lines of all files by rising counter', async () => {
    const other = openIntentLog(dataDir, { clock: systemClock, random: systemRandom });
    for (const line of lines(6)) await (line.armingCounter % 2 === 0 ? log : other).append(line);
    await other.close();
    expect(await readLogs()).toEqual({ lines: lines(6), damagedFiles: [] });
  });

  test('names the damaged file, and gives the lines of the others', async () => {
    await log.append(lineOf(1));
    const damaged = join(intentsFolder(dataDir), '1-1-damaged.log');
    writeFileSync(damaged, `\nrubbish${writeIntentLine(lineOf(2))}`);
    expect(await readLogs()).toEqual({ lines: lines(2), damagedFiles: [damaged] });
  });

  test('leaves alone what is no log', async () => {
    mkdirSync(intentsFolder(dataDir));
    writeFileSync(join(intentsFolder(dataDir), 'notes.txt'), 'mine');
    expect(await readLogs()).toEqual({ lines: [], damagedFiles: [] });
  });

  test('of a new directory gives nothing', async () => {
    expect(await readLogs()).toEqual({ lines: [], damagedFiles: [] });
  });
});
