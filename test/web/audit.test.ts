import { parse } from 'csv-parse/sync';
import { describe, expect, test, vi } from 'vitest';
import { headText, readEntry, writeEntry } from '../../src/audit/entry.ts';
import { ledgerKeys } from '../../src/ledger/keys.ts';
import { createKey } from '../../src/people/keys.ts';
import { readNewest } from '../../src/web/audit/newest.ts';
import { useTestRedis } from '../support/redis.ts';
import { openWebRig } from './rig.ts';

vi.setConfig({ testTimeout: 120_000 });

const ANY = { actor: '', action: '', target: '' };

const server = await useTestRedis();

type App = Awaited<ReturnType<typeof openWebRig>>['app'];

/** Puts so many entries behind the log's last one, each in its place of the chain. */
async function fill({ config, ledger }: App, count: number): Promise<void> {
  let { number, hash } = await ledger.audit.head();
  const lines = Array.from({ length: count }, () => {
    number++;
    const line = writeEntry({
      number,
      at: 1_770_000_000_000 + number,
      actor: number % 2 === 0 ? 'even' : 'odd',
      action: 'run.paused',
      target: `run-${number}`,
      details: { reason: 'filled' },
      dataDir: 'elsewhere',
      previous: hash,
    });
    hash = line.slice(0, hash.length);
    return line;
  });
  const key = ledgerKeys(config.prefix).audit;
  for (let from = 0; from < lines.length; from += 5000)
    await server.redis.rpush(key, ...lines.slice(from, from + 5000));
}

function numbersOn(page: string): number[] {
  return [...page.matchAll(/<th scope="row" class="number">\s*(?:<a [^>]+>)?(\d+)/g)].map(([, number]) =>
    Number(number),
  );
}

describe('the audit page', () => {
  test('shows the newest first, a hundred at a time, to the first one', async () => {
    const { app, person } = await openWebRig(server.url);
    const anna = await person('anna', 'viewer');
    await fill(app, 250);
    const { number: last } = await app.ledger.audit.head();
    const seen: number[] = [];
    let path = '/audit';
    while (path !== '') {
      const { status, text } = await anna.get(path);
      expect(status).toBe(200);
      seen.push(...numbersOn(text));
      const [, next = ''] = /rel="next" href="([^"]+)"/.exec(text) ?? [];
      path = next.replaceAll('&amp;', '&');
    }
    expect(seen).toEqual(Array.from({ length: last }, (_, index) => last - index));
  });

  test('finds entries by who, did and to, and brings them as CSV, the oldest first', async () => {
    const { app, person } = await openWebRig(server.url);
    const anna = await person('anna', 'viewer');
    await fill(app, 30);
    await app.ledger.audit.append({ actor: '=1+1', action: 'run.noted', target: 'run-x', details: { text: '<b>&' } });
    const { text } = await anna.get('/audit?actor=EVEN&action=paused&target=run-1');
    expect(numbersOn(text).length).toBeGreaterThan(0);
    expect(text).not.toContain('>odd<');
    expect((await anna.get('/audit?actor=nobody')).text).toContain('No entry is like that');
    const csv = await anna.get('/audit.csv?action=run.noted');
    const rows = parse<Record<string, string>>(csv.text, { columns: true });
    expect(rows).toMatchObject([{ actor: "'=1+1", action: 'run.noted', target: 'run-x', details: 'text=<b>&' }]);
    expect((await anna.get('/audit?target=run-x')).text).toContain('text: &lt;b>&amp;');
    const all = parse<Record<string, string>>((await anna.get('/audit.csv')).text, { columns: true });
    expect(all.map(({ entry }) => Number(entry))).toEqual(all.map((_, index) => index + 1));
  });

  test('shows moments of its details as times that people read', async () => {
    const { app, person } = await openWebRig(server.url);
    await person('root', 'admin');
    await createKey(app, { name: 'books', role: 'viewer', actor: 'root', lifeMs: 86_400_000 });
    const { text } = await (await person('anna', 'viewer')).get('/audit');
    expect(text).toMatch(/expires at: <time datetime="20[0-9]{2}-[0-9]{2}-[0-9]{2}T/);
  });

  test('is not for programs, and wants what it understands', async () => {
    const { person, base } = await openWebRig(server.url);
    const anna = await person('anna', 'viewer');
    for (const query of ['before=0', 'before=x', 'other=1', `actor=${'x'.repeat(201)}`]) {
      expect([query, (await anna.get(`/audit?${query}`)).status]).toEqual([query, 400]);
    }
    const { status } = await fetch(`${base}/audit`, { headers: { authorization: 'Bearer pr_x' }, redirect: 'manual' });
    expect(status).toBe(401);
  });

  test('reads no more than a part of 100,000 entries, whatever is looked for', async () => {
    const { app } = await openWebRig(server.url);
    await fill(app, 100_000);
    const { number: last } = await app.ledger.audit.head();
    let read = 0;
    const audit = {
      head: () => app.ledger.audit.head(),
      async *lines(from?: number) {
        for await (const line of app.ledger.audit.lines(from)) {
          read++;
          yield line;
        }
      },
    };
    const newest = await readNewest(audit, { before: Number.MAX_SAFE_INTEGER, wanted: ANY });
    expect([newest.lines.length, newest.older, read]).toEqual([25, last - 24, 25]);
    read = 0;
    const rare = await readNewest(audit, { before: 60_001, wanted: { ...ANY, action: 'no such thing' } });
    expect(rare).toEqual({ lines: [], older: 50_001 });
    expect(read).toBe(10_000);
  });
});

describe('the proof', () => {
  test('that the log holds names its head, and takes one that a report has', async () => {
    const { app, person } = await openWebRig(server.url);
    const anna = await person('anna', 'viewer');
    const known = headText(await app.ledger.audit.head()) ?? '';
    expect((await anna.get('/audit')).text).toContain(known);
    await app.ledger.audit.append({ actor: 'anna', action: 'run.noted', target: 'x', details: {} });
    const proof = await anna.post('/audit/verify', { head: known });
    expect(proof.text).toContain('The audit log holds.');
    expect(proof.text).toContain(headText(await app.ledger.audit.head()));
    expect((await anna.post('/audit/verify', { head: '' })).text).toContain('The audit log holds.');
    const other = await anna.post('/audit/verify', { head: `3:${'0'.repeat(64)}` });
    expect(other.text).toContain('THE AUDIT LOG DOES NOT HOLD.');
    expect((await anna.post('/audit/verify', { head: 'nonsense' })).status).toBe(422);
  });

  test('finds the entry that was changed, which the page shows as changed', async () => {
    const { app, person } = await openWebRig(server.url);
    const anna = await person('anna', 'viewer');
    const key = ledgerKeys(app.config.prefix).audit;
    const line = (await server.redis.lindex(key, 1)) ?? '';
    expect(readEntry(line)).toBeDefined();
    await server.redis.lset(key, 1, line.replace('"actor":"', '"actor":"not '));
    expect((await anna.get('/audit')).text).toContain('it was changed');
    const proof = await anna.post('/audit/verify', { head: '' });
    expect(proof.text).toContain('entry 2 is not what its hash says: it was changed');
    const rows = parse<Record<string, string>>((await anna.get('/audit.csv')).text, { columns: true });
    expect(rows[1]).toMatchObject({ entry: '2', action: 'changed' });
  });
});
