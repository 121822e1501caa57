import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  appendFileSync,
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { App } from '../../src/app.ts';
import { mayDrop, openFolder } from '../../src/inbox/folder.ts';
import { openInbox } from '../../src/inbox/inbox.ts';
import { requireFolder } from '../../src/inbox/open-source.ts';
import { prepareInbox } from '../../src/inbox/prepare-inbox.ts';
import { readInbox } from '../../src/inbox/read-inbox.ts';
import type { InboxSource } from '../../src/inbox/source.ts';
import { DEFAULT_LIMITS } from '../../src/intake/limits.ts';
import type { PayoutRow } from '../../src/payout.ts';
import { Refusal } from '../../src/refusal.ts';
import { cancelRun } from '../../src/runs/decide/control.ts';
import { submitRun } from '../../src/runs/hand-in/submit.ts';
import { readRun } from '../../src/runs/read-run.ts';
import { rowXml, workbookOf } from '../intake/workbook-file.ts';
import { openTestApp } from '../runs/opened-app.ts';
import { useTestRedis } from '../support/redis.ts';
import { type Box, mortal, openBox, pause, payouts, STABLE_MS, watching } from './rig.ts';

const server = await useTestRedis();
let app: App & { readonly dir: string };
let box: Box;

beforeEach(async () => {
  app = await openTestApp(server.url);
  box = openBox();
  await box.source.prepare();
});
afterEach(async () => {
  await app.close();
  box.remove();
});

const plan = (sizes: string) => ({ sizes, goesOnIfPaid: false });
const read = (source: InboxSource = box.source): ReturnType<typeof readInbox> => readInbox(app, source, watching());

/** The ledgers that the inbox names as its own. */
function owners(): string[] {
  return readdirSync(box.at('claimed/.ledger'));
}

describe('an inbox of one ledger', () => {
  test('is taken by one of two ledgers that begin to watch it at the same moment', async () => {
    const other = await openTestApp(server.url);
    try {
      const [first, second] = await Promise.allSettled([app, other].map((one) => prepareInbox(one, box.source)));
      expect(new Set([first?.status, second?.status])).toEqual(new Set(['fulfilled', 'rejected']));
      const winner = first?.status === 'fulfilled' ? app : other;
      expect(owners()).toEqual([(await winner.ledger.state.read()).instance]);
      expect(readdirSync(box.at('claimed'))).toEqual(['.ledger']);
    } finally {
      await other.close();
    }
  });

  test('is that of the ledger that people adopted in the place of the lost one', async () => {
    await read();
    const { instance } = await app.ledger.state.read();
    const { redis } = server;
    await redis.hset(`${app.config.prefix}:head`, { instance: 'adopted-one', adopted: instance });
    await read();
    expect(owners()).toEqual(expect.arrayContaining([instance, 'adopted-one']));
    await redis.hdel(`${app.config.prefix}:head`, 'adopted');
    await read();
  });
});

/** The source, with something that happens to a claimed file once, right before its first opening. */
function interfering(source: InboxSource, happens: (path: string) => void): InboxSource {
  let isDone = false;
  return {
    ...source,
    async open(path) {
      if (!isDone && path.endsWith('.csv')) happens(box.at(path));
      isDone ||= path.endsWith('.csv');
      return await source.open(path);
    },
  };
}

const totals = (usd: string) => JSON.stringify({ rows: 3, totals: { USD: usd } });

describe('a manifest beside a file', () => {
  test('goes with it: its totals are compared, and it lies in done/ afterwards', async () => {
    box.drop('november.csv.manifest.json', totals('306.00'));
    box.drop('november.csv', payouts('A', 3));
    expect(await read()).toMatchObject({ accepted: 1, refused: 0 });
    expect(box.names('in')).toEqual([]);
    await cancelRun({ ...app, wake: async () => {} }, box.ack('november.csv').runId, {
      actor: 'ann',
      reason: 'a test',
    });
    await read();
    expect(box.names('done').toSorted()).toEqual(['november.csv', 'november.csv.manifest.json']);
    expect(box.names('claimed')).toEqual([]);
  });

  test('refuses it when they differ, and nothing is paid', async () => {
    box.drop('november.csv.manifest.json', totals('306.01'));
    box.drop('november.csv', payouts('A', 3));
    expect(await read()).toMatchObject({ accepted: 0, refused: 1 });
    expect(box.nack('november.csv').problems.map(({ code }) => code)).toEqual(['E_TOTALS']);
    expect(box.names('claimed')).toEqual([]);
    expect([box.names('done'), box.names('refused').toSorted()]).toEqual([
      [],
      ['november.csv', 'november.csv.manifest.json'],
    ]);
  });

  test('refuses it when it is of no use, and waits for its file when it came first', async () => {
    box.drop('november.csv.manifest.json', '{');
    expect(await read()).toMatchObject({ accepted: 0, refused: 0 });
    expect(box.names('in')).toEqual(['november.csv.manifest.json']);
    box.drop('november.csv', payouts('A', 3));
    await read();
    expect(box.nack('november.csv').problems.map(({ code }) => code)).toEqual(['E_MANIFEST']);
  });

  test('that was caught without its file waits for it again', async () => {
    const id = 'a'.repeat(32);
    mkdirSync(box.at(`claimed/november.csv/${id}`), { recursive: true });
    writeFileSync(box.at(`claimed/november.csv/${id}/november.csv.manifest.json`), totals('306.01'));
    box.drop('november.csv', payouts('A', 3));
    await read();
    expect(box.nack('november.csv').problems.map(({ code }) => code)).toEqual(['E_TOTALS']);
    expect(box.names('refused').toSorted()).toEqual(['november.csv', 'november.csv.manifest.json']);
  });
});

describe('a file that is dropped', () => {
  test('becomes a run of its name, and is acknowledged with its hash, its rows and its run', async () => {
    const text = payouts('A', 3);
    box.drop('november.csv', text);
    expect(await read()).toEqual({ accepted: 1, refused: 0, left: 1 });
    const sha256 = createHash('sha256').update(text).digest('hex');
    const ack = box.ack('november.csv');
    expect(ack).toMatchObject({ file: { name: 'november.csv', sha256, rows: 3 }, duplicate: false, state: 'paying' });
    expect(Date.parse(ack.at)).toBeGreaterThan(0);
    expect(await readRun(app, ack.runId)).toMatchObject({ fileName: 'november.csv', rows: 3, createdBy: 'clerk' });
    expect(box.names('in')).toEqual([]);
    expect(readFileSync(box.at('done/november.csv'), 'utf8')).toBe(text);
    expect(box.names('reports')).toEqual(['november.csv.ack.json']);
  });

  test('that has problems is refused with all that validate says of it', async () => {
    box.drop('bad.csv', payouts('A').replace('100.00', '1e2').replace(',USD,', ',usd,'));
    expect(await read()).toEqual({ accepted: 0, refused: 1, left: 0 });
    const nack = box.nack('bad.csv');
    expect(nack).toMatchObject({ file: 'bad.csv', rows: 2, problemsTotal: nack.problems.length });
    expect(nack.problems.map(({ line, column }) => [line, column])).toContainEqual([2, 'sourceCurrency']);
    expect(box.names('refused')).toEqual(['bad.csv']);
    expect([...box.names('in'), ...box.names('claimed'), ...box.names('done')]).toEqual([]);
    expect(await app.ledger.runs.list()).toEqual([]);
  });

  test('whose reader died twice is refused, and the next file goes on', async () => {
    const files = { ...DEFAULT_LIMITS, readMemoryBytesMax: 160 * 1024 * 1024 };
    // Its texts alone are 100 MB.
    const texts = `<si><t>${'x'.repeat(1000)}</t></si>`.repeat(100_000);
    box.drop('a.xlsx', workbookOf({ sheets: [{ rows: rowXml(1, ['reference']) }], texts }));
    box.drop('b.csv', payouts('B'));
    const result = await readInbox({ ...app, config: { ...app.config, files } }, box.source, watching());
    expect(result).toEqual({ accepted: 1, refused: 1, left: 1 });
    expect(box.nack('a.xlsx').problems.map(({ code }) => code)).toEqual(['E_UNREADABLE_FILE']);
    expect(box.names('refused')).toEqual(['a.xlsx']);
    expect(box.ack('b.csv').file.rows).toBe(2);
  });

  test('has its report beside the acknowledgement once its run has ended, and its claim is gone then', async () => {
    box.drop('a.csv', payouts('A'));
    await read();
    expect(box.names('claimed')).toEqual(['a.csv']);
    await cancelRun(app, box.ack('a.csv').runId, { actor: 'anna', reason: 'wrong month' });
    expect(await read()).toEqual({ accepted: 0, refused: 0, left: 0 });
    expect(box.names('reports')).toEqual(['a.csv.ack.json', 'a.csv.report.csv', 'a.csv.report.json']);
    expect(readFileSync(box.at('reports/a.csv.report.csv'), 'utf8').trimEnd().split('\n')).toHaveLength(3);
    expect(JSON.parse(readFileSync(box.at('reports/a.csv.report.json'), 'utf8'))).toMatchObject({
      runId: box.ack('a.csv').runId,
      outcomes: { cancelled: 2 },
    });
    expect(box.names('claimed')).toEqual([]);
  });

  test('whose run waits is told so, with the reason and the time', async () => {
    box.drop('now.csv', payouts('N'));
    await read();
    expect(box.ack('now.csv').waits).toBeNull();

    const tiers = new Map([['USD', [{ from: 0n, approvals: 2 }]]]);
    const approval = { name: 'two', tiers, holdsMs: 1000 };
    box.drop('asked.csv', payouts('A'));
    await readInbox({ ...app, config: { ...app.config, approval } }, box.source, watching());
    expect(box.ack('asked.csv')).toMatchObject({
      state: 'awaiting-approval',
      waits: { reason: '3 people have to approve it', until: null },
    });
    const inbox = { owners: new Map(), folders: new Map([[box.path, 'anna']]) };
    box.drop('named.csv', payouts('D'));
    await readInbox({ ...app, config: { ...app.config, approval, inbox } }, box.source, watching());
    expect(box.ack('named.csv').waits?.reason).toBe('2 people have to approve it');

    // The next time that is open is the morning of the day after tomorrow, also if tomorrow comes meanwhile.
    const day = (ahead: number): string => new Date(app.clock.now() + ahead * 86_400_000).toISOString().slice(0, 10);
    const holidays = new Set([0, 1].map(day));
    const opens = day(2);
    const calendars = { USD: { zone: 'UTC', opens: '08:00', cutOff: '16:00', weekend: [], holidays } };
    box.drop('late.csv', payouts('L'));
    await readInbox({ ...app, config: { ...app.config, calendars } }, box.source, watching());
    const { state, waits } = box.ack('late.csv');
    expect(state).toBe('paused');
    expect(waits?.reason).toContain('USD');
    expect(Date.parse(waits?.until ?? '')).toBe(Date.parse(`${opens}T08:00:00Z`));

    // Nothing of it starts by itself, whatever time it was given.
    box.drop('both.csv', payouts('B'));
    await readInbox({ ...app, config: { ...app.config, approval, calendars } }, box.source, watching());
    expect(box.ack('both.csv').waits).toEqual({ reason: '3 people have to approve it', until: null });
  });

  test('leaves no copy behind', async () => {
    box.drop('a.csv', payouts('A'));
    box.drop('b.csv', 'nonsense');
    await read();
    expect(execFileSync('find', [app.dir, '-path', '*/inbox/*'], { encoding: 'utf8' })).toBe('');
  });

  test('may be empty: that is refused like any other problem', async () => {
    box.drop('empty.csv', '');
    await read();
    expect(box.nack('empty.csv').problems.map(({ code }) => code)).toEqual(['E_EMPTY']);
  });
});

const MISTAKES = readFileSync('samples/mistakes.csv', 'utf8');

/** Two columns that hold what is wrong, in the order of the file's lines; the codes of the first. */
function codesIn(markedUp: string): string[] {
  const [header = '', ...rows] = markedUp
    .replace(/^\uFEFF/, '')
    .trimEnd()
    .split('\r\n');
  expect(header).toMatch(/,payrunProblems,payrunRemedies$/);
  return rows.flatMap((row) => row.match(/(?<!\w)E_[A-Z_]+/g) ?? []);
}

describe('a refused file', () => {
  test('has its marked-up copy beside the refusal, with the same number', async () => {
    for (const as of ['mistakes.csv', 'mistakes-2.csv']) {
      box.drop('mistakes.csv', MISTAKES);
      expect(await read()).toMatchObject({ accepted: 0, refused: 1 });
      const codes = codesIn(readFileSync(box.at(`reports/${as}.marked-up.csv`), 'utf8'));
      expect(new Set(codes)).toEqual(new Set(box.nack(as).problems.map(({ code }) => code)));
      expect(readFileSync(box.at(`refused/${as}`), 'utf8')).toBe(MISTAKES);
    }
    expect(box.names('reports')).toEqual(
      ['mistakes-2.csv', 'mistakes.csv'].flatMap((as) => [`${as}.marked-up.csv`, `${as}.nack.json`]),
    );
    expect(statSync(box.at('reports/mistakes.csv.marked-up.csv')).mode & 0o777).toBe(0o600);
    expect([...box.names('in'), ...box.names('claimed'), ...box.names('done')]).toEqual([]);
  });

  test('is accepted once its marked-up copy is corrected and dropped', async () => {
    const text = payouts('A');
    box.drop('a.csv', text.replace('101.00', '1e2'));
    await read();
    const markedUp = readFileSync(box.at('reports/a.csv.marked-up.csv'), 'utf8');
    box.drop('a.csv.marked-up.csv', markedUp.replace('1e2', '101.00'));
    expect(await read()).toMatchObject({ accepted: 1, refused: 0 });
    expect(box.ack('a.csv.marked-up.csv').file.rows).toBe(2);
    expect(box.names('done')).toEqual(['a.csv.marked-up.csv']);
  });

  test.each([
    ['that is damaged as a whole', 'nonsense'],
    ['that is binary', Buffer.from([0x50, 0x4b, 3, 4, 0, 0, 0, 0])],
    ['whose last line may be cut off', payouts('A').slice(0, -20)],
  ])('%s has none', async (_what, content) => {
    box.drop('a.csv', content);
    await read();
    expect(box.names('reports')).toEqual(['a.csv.nack.json']);
  });

  test('has none where only the service tells what is wrong, for the copy would show nothing', async () => {
    box.drop('a.csv', payouts('A'));
    const identities = {
      check: async () => ({
        problems: [],
        problemsTotal: 2,
        problemGroups: [],
        refused: 2,
        warnings: [],
        acceptedHash: null,
      }),
      judge: (row: PayoutRow) => row,
      names: async () => new Map<string, string>(),
    };
    expect(await readInbox({ ...app, identities }, box.source, watching())).toMatchObject({ refused: 1 });
    expect(box.names('reports')).toEqual(['a.csv.nack.json']);
  });
});

/** Where an accepted file lies until its run has ended. */
function pathOfHandedIn(as = 'a.csv'): string {
  const [claim = ''] = box.names(`claimed/${as}`);
  return box.at(`claimed/${as}/${claim}/.handed-in`);
}

async function cancelIts(one: Box): Promise<void> {
  await cancelRun(app, one.ack('a.csv').runId, { actor: 'anna', reason: 'test' });
}

describe('a file that is written to after it was taken', () => {
  const text = payouts('A', 4);
  const half = payouts('A', 2);
  const rest = text.slice(half.length);

  const expectBoth = (): void => {
    expect(readFileSync(box.at('done/a.csv'), 'utf8')).toBe(half);
    expect(readFileSync(box.at('refused/a.csv'), 'utf8')).toBe(text);
    expect(box.ack('a.csv').file).toMatchObject({ rows: 2, sha256: createHash('sha256').update(half).digest('hex') });
    expect(box.nack('a.csv')).toMatchObject({ file: 'a.csv', problems: [{ code: 'E_LATE' }] });
  };

  test('is refused as it is now, once, and what was paid stays in done/', async () => {
    box.drop('a.csv', half);
    expect(await read()).toMatchObject({ accepted: 1, refused: 0, left: 1 });
    expect(readFileSync(box.at('done/a.csv'), 'utf8')).toBe(half);
    appendFileSync(pathOfHandedIn(), rest);
    expect(await read()).toMatchObject({ accepted: 0, refused: 1, left: 1 });
    expectBoth();
    expect(await read()).toMatchObject({ accepted: 0, refused: 0, left: 1 });
    await cancelIts(box);
    expect(await read()).toMatchObject({ accepted: 0, refused: 0, left: 0 });
    expectBoth();
    expect(box.names('claimed')).toEqual([]);
  });

  test('is told whether its run goes on or was cancelled, and never that what was cancelled is paid', async () => {
    const problemOf = (as: string): string => {
      const [problem] = box.nack(as).problems;
      return `${problem?.message} ${problem?.remedy}`;
    };
    box.drop('a.csv', half);
    box.drop('b.csv', payouts('B'));
    expect(await read()).toMatchObject({ accepted: 2 });
    const [a, b] = [box.ack('a.csv').runId, box.ack('b.csv').runId];
    await cancelIts(box);
    for (const as of ['a.csv', 'b.csv']) appendFileSync(pathOfHandedIn(as), rest);
    expect(await read()).toMatchObject({ refused: 2 });
    expect(problemOf('a.csv')).toContain(`Run ${a} is the file as it was then, which lies in done/; it was cancelled.`);
    expect(problemOf('a.csv')).toContain('drop what is still to be paid');
    expect(problemOf('b.csv')).toContain(`Run ${b} is the file as it was then, which lies in done/. Nothing`);
    expect(problemOf('b.csv')).toContain('drop what is missing');
    expect(`${problemOf('a.csv')} ${problemOf('b.csv')}`).not.toMatch(/is paid/);
  });

  test('is told of by the watcher that took it, while its run goes on', async () => {
    const inbox = openInbox(app, box.source, watching());
    const lookOnce = async (): Promise<string[]> => {
      await inbox.look();
      await inbox.idle();
      return box.names('reports');
    };
    box.drop('a.csv', half);
    await expect.poll(lookOnce).toEqual(['a.csv.ack.json']);
    expect(await lookOnce()).toEqual(['a.csv.ack.json']);
    appendFileSync(pathOfHandedIn(), rest);
    await expect.poll(lookOnce).toEqual(['a.csv.ack.json', 'a.csv.nack.json']);
    expectBoth();
  });

  test('is found at the end of its run, also when its size and time are as they were', async () => {
    const inbox = openInbox(app, box.source, watching());
    box.drop('a.csv', half);
    await expect
      .poll(async () => {
        await inbox.look();
        await inbox.idle();
        return box.names('done');
      })
      .toEqual(['a.csv']);
    const script = 'touch -r "$0" "$1" && printf X | dd of="$0" conv=notrunc 2>/dev/null && touch -r "$1" "$0"';
    execFileSync('sh', ['-c', script, pathOfHandedIn(), box.at('time')]);
    await cancelIts(box);
    await inbox.look();
    await inbox.idle();
    expect(box.nack('a.csv').problems).toMatchObject([{ code: 'E_LATE' }]);
    expect(readFileSync(box.at('done/a.csv'), 'utf8')).toBe(half);
    expect(readFileSync(box.at('refused/a.csv'), 'utf8')).toBe(`X${half.slice(1)}`);
    await expect.poll(() => read()).toMatchObject({ left: 0 });
  });

  test('is told of once by several watchers, and loses nothing', async () => {
    box.drop('a.csv', half);
    await read();
    appendFileSync(pathOfHandedIn(), rest);
    await Promise.all([read(), read(), read()]);
    expectBoth();
    await cancelIts(box);
    await Promise.all([read(), read(), read()]);
    expectBoth();
    expect(box.names('claimed')).toEqual([]);
  });
});

describe('the same file again', () => {
  test('comes to the same run, and its acknowledgement says so', async () => {
    box.drop('a.csv', payouts('A'));
    await read();
    box.drop('a.csv', payouts('A'));
    await read();
    expect(box.ack('a-2.csv')).toMatchObject({ runId: box.ack('a.csv').runId, duplicate: true });
    expect(box.ack('a.csv').duplicate).toBe(false);
    expect(box.names('done')).toEqual(['a-2.csv', 'a.csv']);
    expect(await app.ledger.runs.list()).toHaveLength(1);
  });

  test('under two names at once makes one run and two acknowledgements that name it', async () => {
    box.drop('a.csv', payouts('A'));
    box.drop('b.csv', payouts('A'));
    await read();
    expect(box.ack('a.csv').runId).toBe(box.ack('b.csv').runId);
    expect(box.ack('a.csv').duplicate).toBe(!box.ack('b.csv').duplicate);
    expect(await app.ledger.runs.list()).toHaveLength(1);
  });

  test('through two inboxes at once makes one run and two acknowledgements that name it', async () => {
    const other = openBox();
    await other.source.prepare();
    box.drop('a.csv', payouts('A'));
    other.drop('a.csv', payouts('A'));
    await Promise.all([read(), read(other.source)]);
    expect(box.ack('a.csv').runId).toBe(other.ack('a.csv').runId);
    expect(box.ack('a.csv').duplicate).toBe(!other.ack('a.csv').duplicate);
    other.remove();
  });

  test('that was refused is refused again, under a name of its own', async () => {
    box.drop('a.csv', 'nonsense');
    await read();
    box.drop('a.csv', 'nonsense');
    await read();
    expect(box.names('reports')).toEqual(['a-2.csv.nack.json', 'a.csv.nack.json']);
    expect(box.names('refused')).toEqual(['a-2.csv', 'a.csv']);
  });
});

describe('several watchers of one inbox', () => {
  test('answer each of many files once, and all of them', async () => {
    const names = Array.from({ length: 30 }, (_, index) => `f${index}.csv`);
    for (const name of names) box.drop(name, payouts(name.slice(0, -4)));
    const counts = await Promise.all([read(), read(), read()]);
    expect(counts.reduce((sum, { accepted }) => sum + accepted, 0)).toBe(30);
    expect(box.names('reports')).toEqual(names.map((name) => `${name}.ack.json`).toSorted());
    expect(box.names('done')).toEqual(names.toSorted());
    expect(names.filter((name) => box.ack(name).duplicate)).toEqual([]);
    expect(await app.ledger.runs.list()).toHaveLength(30);
  });

  test('deliver a report once, and all end its claim', async () => {
    box.drop('a.csv', payouts('A'));
    await read();
    await cancelRun(app, box.ack('a.csv').runId, { actor: 'anna', reason: 'wrong month' });
    await Promise.all([read(), read(), read()]);
    expect(box.names('reports')).toEqual(['a.csv.ack.json', 'a.csv.report.csv', 'a.csv.report.json']);
    expect(box.names('claimed')).toEqual([]);
  });
});

describe('a name', () => {
  const long = `${'n'.repeat(235)}.csv`;

  test.each(['two words.csv', 'März 支払い.csv', '-rf.csv', '$(id).csv', 'no ending', "quote's.csv", long])(
    'such as %j is that of the run, and of the file in its acknowledgement',
    async (name) => {
      box.drop(name, payouts('A'));
      await read();
      const [as = ''] = box.names('done');
      expect(box.ack(as).file.name).toBe(name);
      expect((await readRun(app, box.ack(as).runId)).fileName).toBe(name);
      expect(as).toBe(name);
    },
  );

  test('of full length is cut in the names of its answers, and nowhere else', async () => {
    const [first, second] = [`${'n'.repeat(251)}.csv`, `${'n'.repeat(250)}m.csv`];
    box.drop(first, 'nonsense');
    await read();
    box.drop(second, 'nonsense');
    await read();
    const as = [`${'n'.repeat(235)}-2.csv`, `${'n'.repeat(237)}.csv`];
    expect(box.names('refused')).toEqual(as);
    expect(as.map((name) => box.nack(name).file)).toEqual([second, first]);
  });

  test('is free again for a new file in no way while an answer of the old one is there', async () => {
    for (const there of ['done/a.csv', 'refused/a-2.csv', 'reports/a-3.csv.nack.json', 'reports/a-4.csv.report.csv']) {
      writeFileSync(box.at(there), 'old');
    }
    box.drop('a.csv', payouts('A'));
    await read();
    expect(box.ack('a-5.csv').file.name).toBe('a.csv');
    expect(readFileSync(box.at('done/a.csv'), 'utf8')).toBe('old');
  });

  test('is not given to a second file when the first one was answered a moment ago', async () => {
    const answered = new Set(['done', 'refused', 'reports']);
    const late: InboxSource = {
      ...box.source,
      names: async (folder) => (answered.has(folder) ? [] : await box.source.names(folder)),
    };
    for (const there of ['done/a.csv', 'refused/a-2.csv', 'reports/a-3.csv.report.json'])
      writeFileSync(box.at(there), 'old');
    box.drop('a.csv', 'nonsense');
    await read(late);
    expect(box.names('reports')).toEqual(['a-3.csv.report.json', 'a-4.csv.nack.json']);
  });

  test.each([
    ['a line end and an escape', Buffer.from('pay\n\u001b[31m.csv'), 'pay__[31m.csv'],
    ['bytes that are no UTF-8', Buffer.from([0x70, 0xe4, 0x2e, 0x63, 0x73, 0x76]), 'p_.csv'],
    ['bytes that are no UTF-8, at its full length', Buffer.alloc(255, 0xe4), '_'.repeat(241)],
  ])('with %s is refused, its answer under a plain one', async (_what, name, as) => {
    writeFileSync(Buffer.concat([Buffer.from(`${box.path}/in/`), name]), payouts('A'));
    await read();
    expect(box.names('refused')).toEqual([as]);
    expect(box.nack(as).problems.map(({ code }) => code)).toEqual(['E_FILE_NAME']);
    expect(box.names('in')).toEqual([]);
  });
});

describe('what is no payout file', () => {
  const make: Record<string, (path: string) => void> = {
    E_LINK: (path) => symlinkSync('/etc/hostname', path),
    E_FOLDER: (path) => {
      mkdirSync(path);
      writeFileSync(`${path}/inside.csv`, payouts('A'));
    },
    E_SPECIAL: (path) => void execFileSync('mkfifo', [path]),
    E_HARD_LINK: (path) => {
      writeFileSync(box.at('elsewhere.csv'), payouts('A'));
      linkSync(box.at('elsewhere.csv'), path);
    },
    E_WORLD_WRITABLE: (path) => {
      writeFileSync(path, payouts('A'));
      chmodSync(path, 0o666);
    },
    // Only root can give a file away; the rule itself is tested below for everybody.
    ...(process.getuid?.() === 0 && {
      E_OWNER: (path: string) => {
        writeFileSync(path, payouts('A'));
        chownSync(path, 65_534, 65_534);
      },
    }),
  };

  test.each<[code: string, isKept: boolean]>([
    ...(process.getuid?.() === 0 ? [['E_OWNER', true] satisfies [string, boolean]] : []),
    ['E_LINK', false],
    ['E_FOLDER', true],
    ['E_SPECIAL', false],
    ['E_HARD_LINK', false],
    ['E_WORLD_WRITABLE', true],
  ])('is refused once with %s, read by nobody, and does not stay in the folder "in"', async (code, isKept) => {
    make[code]?.(box.at('in/x.csv'));
    box.drop('good.csv', payouts('good'));
    expect(await read()).toMatchObject({ accepted: 1, refused: 1 });
    expect(await read()).toMatchObject({ accepted: 0, refused: 0 });
    expect(box.nack('x.csv')).toMatchObject({ file: 'x.csv', rows: 0, valid: 0, totals: [], problemsTotal: 1 });
    expect(box.nack('x.csv').problems).toMatchObject([{ code, line: null, column: null, value: null }]);
    expect(box.names('in')).toEqual([]);
    expect(box.names('refused')).toEqual(isKept ? ['x.csv'] : []);
    expect(box.names('claimed')).toEqual(['good.csv']);
    expect(await app.ledger.runs.list()).toHaveLength(1);
  });

  test.each([
    { who: 'its own user', uid: 1000n, gid: 7n, mode: 0o700n, may: true },
    { who: 'the owner of the folder', uid: 2000n, gid: 7n, mode: 0o700n, may: true },
    { who: 'root', uid: 0n, gid: 0n, mode: 0o700n, may: true },
    { who: 'a member of the group that may write there', uid: 3000n, gid: 20n, mode: 0o770n, may: true },
    { who: 'a member of a group that may only read', uid: 3000n, gid: 20n, mode: 0o750n, may: false },
    { who: 'somebody else', uid: 3000n, gid: 7n, mode: 0o770n, may: false },
  ])('is taken from whom the folder names: $who', ({ uid, gid, mode, may }) => {
    expect(mayDrop({ uid, gid, mode: 0o640n }, { uid: 2000n, gid: 20n, mode }, 1000)).toBe(may);
  });

  test('loses nothing: a folder keeps its files, a hard link its other name, a link its target', async () => {
    for (const code of ['E_LINK', 'E_FOLDER', 'E_HARD_LINK']) make[code]?.(box.at(`in/${code}`));
    await read();
    expect(readFileSync(box.at('refused/E_FOLDER/inside.csv'), 'utf8')).toBe(payouts('A'));
    expect(readFileSync(box.at('elsewhere.csv'), 'utf8')).toBe(payouts('A'));
    expect(existsSync('/etc/hostname')).toBe(true);
  });
});

describe('a file that is not complete', () => {
  test.each(['a.csv.part', '.a.csv', 'a.csv.tmp'])('is left alone while it is called %j', async (name) => {
    box.drop(name, payouts('A'));
    expect(await read()).toEqual({ accepted: 0, refused: 0, left: 0 });
    renameSync(box.at(`in/${name}`), box.at('in/a.csv'));
    expect(await read()).toMatchObject({ accepted: 1 });
  });

  test('is not read while it grows, and is read whole then', async () => {
    const inbox = openInbox(app, box.source, watching());
    box.drop('a.csv', 'reference,');
    const text = payouts('A', 20);
    for (let at = 'reference,'.length; at < text.length; at += 100) {
      appendFileSync(box.at('in/a.csv'), text.slice(at, at + 100));
      await inbox.look();
      await inbox.idle();
      await pause(STABLE_MS / 3);
    }
    expect(box.names('in')).toEqual(['a.csv']);
    await pause(STABLE_MS);
    await inbox.look();
    await inbox.idle();
    expect(box.ack('a.csv').file).toMatchObject({ rows: 20, sha256: createHash('sha256').update(text).digest('hex') });
  });

  test('but was still when it was looked at, and grew right before it was claimed, is read when it is still again', async () => {
    const text = payouts('A', 20);
    let isWaiting = true;
    const source: InboxSource = {
      ...box.source,
      async move(from, to) {
        if (isWaiting && from === 'in/a.csv') {
          isWaiting = false;
          appendFileSync(box.at(from), text.slice(500));
        }
        return await box.source.move(from, to);
      },
    };
    box.drop('a.csv', text.slice(0, 500));
    const inbox = openInbox(app, source, watching());
    const lookOnce = async (): Promise<string[]> => {
      await inbox.look();
      await inbox.idle();
      return box.names('reports');
    };
    await expect
      .poll(async () => {
        expect(await lookOnce()).toEqual([]);
        return isWaiting;
      })
      .toBe(false);
    expect(box.names('claimed')).toEqual(['a.csv']);
    expect(await lookOnce()).toEqual([]);
    await expect.poll(lookOnce).toEqual(['a.csv.ack.json']);
    expect(box.ack('a.csv').file.rows).toBe(20);
  });

  test('and lies in a claim that somebody left is not read while it grows', async () => {
    const folder = `claimed/a.csv/${'0'.repeat(32)}`;
    mkdirSync(box.at(folder), { recursive: true });
    const inbox = openInbox(app, box.source, watching());
    const lines = payouts('A', 20).split(/(?<=\n)/);
    for (const line of lines) {
      appendFileSync(box.at(`${folder}/a.csv`), line);
      await inbox.look();
      await inbox.idle();
      expect(box.names('reports')).toEqual([]);
    }
    expect(await read()).toMatchObject({ accepted: 1 });
    expect(box.ack('a.csv').file.rows).toBe(20);
  });

  test('and was claimed all the same, since its writer stalled, is waited for again once it is written to', async () => {
    const text = payouts('A', 20);
    const source = interfering(box.source, (path) => appendFileSync(path, text.slice(500)));
    box.drop('a.csv', text.slice(0, 500));
    expect(await readInbox(app, source, watching())).toMatchObject({ accepted: 1, refused: 0 });
    expect(box.ack('a.csv').file.sha256).toBe(createHash('sha256').update(text).digest('hex'));
  });
});

describe('a fault', () => {
  test('that keeps files from being answered is said once, keeps each of them, and is no refusal', async () => {
    const said: string[] = [];
    box.drop('a.csv', payouts('A'));
    box.drop('b.csv', payouts('B'));
    box.drop('bad.csv', 'nonsense');
    const inbox = openInbox({ ...app, ensureSeason: async () => ['d9'] }, box.source, watching(said));
    for (let looks = 0; looks < 12; looks++) {
      await inbox.look();
      await inbox.idle();
      await pause(STABLE_MS / 2);
    }
    expect(said).toHaveLength(1);
    expect(said[0]).toContain('d9');
    expect(inbox.standing()).toMatchObject({ files: 0, unanswered: 2 });
    expect(box.names('reports')).toEqual(['bad.csv.nack.json']);
    await read();
    expect([box.ack('a.csv').duplicate, box.ack('b.csv').duplicate]).toEqual([false, false]);
    expect(await app.ledger.runs.list()).toHaveLength(2);
  });

  test('of the copy is not held against the file', async () => {
    box.drop('a.csv', payouts('A'));
    const said: string[] = [];
    const ledger = {
      ...app.ledger,
      runs: {
        ...app.ledger.runs,
        record: async () => {
          throw new Refusal('The payout file cannot be read.', 'none', { kind: 'fileRefused' });
        },
      },
    };
    const at = (): void => {
      for (const path of execFileSync('find', [app.dir, '-name', 'a.csv'], { encoding: 'utf8' }).trim().split('\n')) {
        if (path !== '') unlinkSync(path);
      }
    };
    const inbox = openInbox({ ...app, ledger, at }, box.source, watching(said));
    for (let looks = 0; looks < 4; looks++) {
      await inbox.look();
      await inbox.idle();
      await pause(STABLE_MS / 2);
    }
    expect(said).toHaveLength(1);
    expect(box.names('reports')).toEqual([]);
    expect(await read()).toMatchObject({ accepted: 1 });
    expect(box.ack('a.csv').duplicate).toBe(false);
  });

  test('with a file that was taken away is forgotten', async () => {
    const source: InboxSource = {
      ...box.source,
      move: async (from, to) => {
        if (from === 'in/evil.csv') throw new Error('the disk has a bad place');
        return await box.source.move(from, to);
      },
    };
    box.drop('evil.csv', payouts('A'));
    const inbox = openInbox(app, source, watching());
    const oldest = async (): Promise<boolean> => {
      await inbox.look();
      await inbox.idle();
      return inbox.troubles.oldest() !== undefined;
    };
    await expect.poll(oldest).toBe(true);
    unlinkSync(box.at('in/evil.csv'));
    await expect.poll(oldest).toBe(false);
  });

  test('with one file does not keep the others from being answered', async () => {
    const source: InboxSource = {
      ...box.source,
      open: async (path) => {
        if (path.endsWith('/evil.csv')) throw new Error('the disk has a bad place');
        return await box.source.open(path);
      },
    };
    for (const name of ['a', 'evil', 'z']) box.drop(`${name}.csv`, payouts(name));
    const said: string[] = [];
    const inbox = openInbox(app, source, watching(said));
    await expect
      .poll(async () => {
        await inbox.look();
        await inbox.idle();
        return box.names('reports');
      })
      .toEqual(['a.csv.ack.json', 'z.csv.ack.json']);
    expect(said).toEqual(['Error: the disk has a bad place']);
  });
});

function dying(source: InboxSource, acts: { left: number; isDead: boolean; behind: boolean }): InboxSource {
  const wrap =
    <Args extends unknown[], Result>(act: (...args: Args) => Promise<Result>) =>
    async (...args: Args): Promise<Result> => {
      const isLast = !acts.isDead && --acts.left < 0;
      acts.isDead ||= isLast;
      if (!acts.isDead || (isLast && acts.behind)) {
        const result = await act(...args);
        if (!acts.isDead) return result;
      }
      return await new Promise<never>(() => {});
    };
  return {
    ...source,
    makeFolder: wrap((path: string) => source.makeFolder(path)),
    move: wrap((from: string, to: string) => source.move(from, to)),
    remove: wrap((path: string) => source.remove(path)),
    open: wrap(async (path: string) => {
      const opening = await source.open(path);
      // A process that dies closes what it has open.
      if (acts.isDead && opening.kind === 'opened') await opening.file.close();
      return opening;
    }),
    write: wrap((path: string, content: Parameters<InboxSource['write']>[1]) => source.write(path, content)),
  };
}

/** False when it came to the end of its work before its time. */
async function die(source: InboxSource, place: { left: number; behind: boolean }): Promise<boolean> {
  const acts = { ...place, isDead: false };
  const deps = { ...app, clock: mortal(app.clock, () => acts.isDead) };
  const reading = readInbox(deps, dying(source, acts), watching());
  while (!acts.isDead) {
    const isOver = await Promise.race([reading.then(() => true), pause(5).then(() => false)]);
    if (isOver) return false;
  }
  // Acts that were under way when it died may still take effect.
  await pause(20);
  return true;
}

/*
 * A watcher dies at its n-th act in the folder, once before the act and once behind it, for every n there is: another one
 * finds what it left. The random kills of real processes are in kill.test.ts.
 */
describe('a watcher that dies', () => {
  const MOMENTS = Array.from({ length: 40 }, (_, left) => left);

  test.each([
    ['before', false],
    ['behind', true],
  ])('%s any of its acts loses nothing and makes nothing twice', { timeout: 120_000 }, async (_when, behind) => {
    let deaths = 0;
    for (const left of MOMENTS) {
      const one = openBox();
      await one.source.prepare();
      one.drop('a.csv', payouts(`f${left}`));
      if (await die(one.source, { left, behind })) deaths++;
      await expect.poll(() => read(one.source), { timeout: 60_000, interval: 20 }).toMatchObject({ left: 1 });
      expect([one.names('in'), one.names('done'), one.names('claimed')]).toEqual([[], ['a.csv'], ['a.csv']]);
      expect(one.names('reports')).toEqual(['a.csv.ack.json']);
      expect(one.ack('a.csv')).toMatchObject({ file: { name: 'a.csv' }, duplicate: false });
      expect(readFileSync(one.at('done/a.csv'), 'utf8')).toBe(payouts(`f${left}`));
      one.remove();
      if (deaths <= left) break;
    }
    expect(deaths).toBeGreaterThan(8);
    expect(await app.ledger.runs.list()).toHaveLength(deaths + 1);
  });

  test.each([
    ['before', false],
    ['behind', true],
  ])('%s any of its acts with a refused file refuses it once', { timeout: 120_000 }, async (_when, behind) => {
    let deaths = 0;
    for (const left of MOMENTS) {
      const one = openBox();
      await one.source.prepare();
      one.drop('a.csv', 'nonsense');
      if (await die(one.source, { left, behind })) deaths++;
      await expect.poll(() => read(one.source), { timeout: 60_000, interval: 20 }).toMatchObject({ left: 0 });
      expect([one.names('in'), one.names('refused'), one.names('claimed')]).toEqual([[], ['a.csv'], []]);
      expect(one.names('reports')).toEqual(['a.csv.nack.json']);
      one.remove();
      if (deaths <= left) break;
    }
    expect(deaths).toBeGreaterThan(8);
  });

  test.each([
    ['before', false],
    ['behind', true],
  ])(
    '%s any of its acts with a file of mistakes loses no marked-up copy',
    { timeout: 120_000 },
    async (_when, behind) => {
      let deaths = 0;
      for (const left of MOMENTS) {
        const one = openBox();
        await one.source.prepare();
        one.drop('a.csv', MISTAKES);
        if (await die(one.source, { left, behind })) deaths++;
        // Whoever reads the refusal finds the copy beside it.
        expect([[], ['a.csv.marked-up.csv'], ['a.csv.marked-up.csv', 'a.csv.nack.json']]).toContainEqual(
          one.names('reports'),
        );
        await expect.poll(() => read(one.source), { timeout: 60_000, interval: 20 }).toMatchObject({ left: 0 });
        expect([one.names('in'), one.names('refused'), one.names('claimed')]).toEqual([[], ['a.csv'], []]);
        expect(one.names('reports')).toEqual(['a.csv.marked-up.csv', 'a.csv.nack.json']);
        expect(codesIn(readFileSync(one.at('reports/a.csv.marked-up.csv'), 'utf8')).length).toBeGreaterThan(10);
        one.remove();
        if (deaths <= left) break;
      }
      expect(deaths).toBeGreaterThan(10);
    },
  );

  test.each([
    ['before', false],
    ['behind', true],
  ])(
    '%s any of its acts with a file that was written to late tells of it once',
    { timeout: 120_000 },
    async (_when, behind) => {
      let deaths = 0;
      for (const left of MOMENTS) {
        const one = openBox();
        await one.source.prepare();
        const text = payouts(`l${left}`);
        one.drop('a.csv', text);
        await read(one.source);
        const [claim = ''] = one.names('claimed/a.csv');
        appendFileSync(one.at(`claimed/a.csv/${claim}/.handed-in`), 'more');
        await cancelRun(app, one.ack('a.csv').runId, { actor: 'anna', reason: 'test' });
        if (await die(one.source, { left, behind })) deaths++;
        await expect.poll(() => read(one.source), { timeout: 60_000, interval: 20 }).toMatchObject({ left: 0 });
        expect(readFileSync(one.at('done/a.csv'), 'utf8')).toBe(text);
        expect(readFileSync(one.at('refused/a.csv'), 'utf8')).toBe(`${text}more`);
        expect(one.names('reports')).toEqual([
          'a.csv.ack.json',
          'a.csv.nack.json',
          'a.csv.report.csv',
          'a.csv.report.json',
        ]);
        expect(one.names('claimed')).toEqual([]);
        one.remove();
        if (deaths <= left) break;
      }
      expect(deaths).toBeGreaterThan(8);
    },
  );

  test.each([
    ['before', false],
    ['behind', true],
  ])(
    '%s any of its acts with a report leaves it to the next one, whole',
    { timeout: 120_000 },
    async (_when, behind) => {
      let deaths = 0;
      for (const left of MOMENTS) {
        const one = openBox();
        await one.source.prepare();
        one.drop('a.csv', payouts(`r${left}`));
        await read(one.source);
        await cancelRun(app, one.ack('a.csv').runId, { actor: 'anna', reason: 'test' });
        if (await die(one.source, { left, behind })) deaths++;
        await expect.poll(() => read(one.source), { timeout: 60_000, interval: 20 }).toMatchObject({ left: 0 });
        expect(one.names('reports')).toEqual(['a.csv.ack.json', 'a.csv.report.csv', 'a.csv.report.json']);
        expect(one.names('claimed')).toEqual([]);
        one.remove();
        if (deaths <= left) break;
      }
      expect(deaths).toBeGreaterThan(5);
    },
  );
});

describe('an inbox', () => {
  test('whose folders are missing has them made for its owner alone; those that are there stay as they are', async () => {
    const other = openBox();
    mkdirSync(other.at('reports'));
    chmodSync(other.at('reports'), 0o750);
    await other.source.prepare();
    const modes = ['in', 'claimed', 'done', 'refused', 'reports'].map(
      (folder) => statSync(other.at(folder)).mode & 0o777,
    );
    expect(modes).toEqual([0o700, 0o700, 0o700, 0o700, 0o750]);
    other.remove();
  });

  test.each<[what: string, spoil: (other: Box) => void]>([
    ['that everybody may write to', ({ at }) => chmodSync(at(''), 0o777)],
    ['whose folder "in" everybody may write to', ({ at }) => chmodSync(at('in'), 0o1777)],
    [
      'whose folder "in" is a link',
      ({ at }) => {
        renameSync(at('in'), at('elsewhere'));
        symlinkSync(at('elsewhere'), at('in'));
      },
    ],
    [
      'whose folder "claimed" is a file',
      ({ at }) => {
        execFileSync('rmdir', [at('claimed')]);
        writeFileSync(at('claimed'), '');
      },
    ],
  ])('%s is refused before anything in it is read, also when a schedule is set', async (_what, spoil) => {
    const other = openBox();
    await other.source.prepare();
    await expect(requireFolder(other.path)).resolves.toBeUndefined();
    spoil(other);
    await expect(other.source.prepare()).rejects.toBeInstanceOf(Refusal);
    await expect(requireFolder(other.path)).rejects.toBeInstanceOf(Refusal);
    chmodSync(other.path, 0o700);
    other.remove();
  });

  test('that is not there is made, and that is told; below a folder that is not there either it is refused', async () => {
    const mistyped = openFolder(box.at('absent/payouts'));
    await expect(mistyped.prepare()).rejects.toThrow(/absent\/payouts is not there, and neither is .*absent\.$/);
    await expect(mistyped.prepare()).rejects.toMatchObject({
      kind: 'usage',
      remedy: expect.stringContaining('mkdir -p'),
    });
    expect(existsSync(box.at('absent'))).toBe(false);
    const fresh = openFolder(box.at('fresh'));
    expect([await fresh.prepare(), await fresh.prepare()]).toEqual([true, false]);
    expect(readdirSync(box.at('fresh')).toSorted()).toEqual(['claimed', 'done', 'in', 'refused', 'reports']);
    expect(statSync(box.at('fresh')).mode & 0o777).toBe(0o700);
  });

  test('is paid in the stages of whoever reads it, else in those of the settings', async () => {
    const staged = { ...app, config: { ...app.config, inbox: { ...app.config.inbox, stages: plan('5,rest') } } };
    for (const [name, stages] of [
      ['own.csv', plan('1,rest')],
      ['others.csv', undefined],
    ] as const) {
      box.drop(name, payouts(name, 3));
      await readInbox(staged, box.source, { ...watching(), stages });
    }
    const planOf = async (name: string) => (await app.ledger.runs.read(box.ack(name).runId))?.stagePlan;
    expect([await planOf('own.csv'), await planOf('others.csv')]).toEqual([plan('1,rest'), plan('5,rest')]);
  });

  test('that a schedule names and that is not there, or is no folder, is refused and not made', async () => {
    writeFileSync(box.at('file'), '');
    await expect(requireFolder(box.at('absent'))).rejects.toThrow(/absent is not there/);
    await expect(requireFolder(box.at('file'))).rejects.toThrow(/file cannot be used: it is no folder/);
    symlinkSync(box.path, box.at('link'));
    await expect(requireFolder(box.at('link'))).rejects.toThrow(/link cannot be used: it is a link/);
    expect(existsSync(box.at('absent'))).toBe(false);
    const bare = openBox();
    await expect(requireFolder(bare.path)).resolves.toBeUndefined();
    expect(readdirSync(bare.path)).toEqual([]);
    bare.remove();
    await expect(requireFolder('sftp://anna@files.example.com/in')).resolves.toBeUndefined();
  });

  test('has answers that only its owner may read, and the group where the folder lets it in', async () => {
    box.drop('a.csv', payouts('A'));
    await read();
    expect(statSync(box.at('reports/a.csv.ack.json')).mode & 0o777).toBe(0o600);
    chmodSync(box.at('reports'), 0o2775 & ~0o002);
    box.drop('b.csv', payouts('B'));
    await read();
    expect(statSync(box.at('reports/b.csv.ack.json')).mode & 0o777).toBe(0o640);
  });

  test('finds the run of a file that was handed in at another door', async () => {
    writeFileSync(box.at('elsewhere.csv'), payouts('A'));
    const handedIn = await submitRun(app, { path: box.at('elsewhere.csv'), actor: 'anna', skipInvalid: false });
    box.drop('a.csv', payouts('A'));
    await read();
    expect(box.ack('a.csv')).toMatchObject({
      duplicate: true,
      runId: handedIn.kind === 'submitted' ? handedIn.run.id : '',
    });
  });
});
