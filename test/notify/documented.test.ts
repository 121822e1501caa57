import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { systemClock } from '../../src/clock.ts';
import { EVENTS, notificationSchema, writeNotification } from '../../src/notify/notification.ts';
import { notifyParts } from '../../src/notify/settings.ts';
import { postNotification } from '../../src/notify/webhook.ts';
import { SECRET } from './notify-desk.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../docs/notifications.md'), 'utf8');
const folder = mkdtempSync(join(tmpdir(), 'payrun-receiver-'));
afterAll(() => rmSync(folder, { recursive: true }));
writeFileSync(join(folder, 'secret'), `${SECRET}\n`, { mode: 0o600 });

function blocks(language: string): string[] {
  return [...PAGE.matchAll(new RegExp(`\`\`\`${language}\\n(.*?)\`\`\``, 'gs'))].map(([, text]) => text ?? '');
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}

const RECEIVERS = [
  { name: 'Node', language: 'js', program: process.execPath, file: 'receiver.mjs' },
  { name: 'Python', language: 'python', program: 'python3', file: 'receiver.py' },
];

describe.each(RECEIVERS)('the receiver of the page, with $name,', ({ language, program, file }) => {
  const isThere = spawnSync(program, ['--version']).status === 0;

  test.skipIf(!isThere)('takes what payrun signs, once, and refuses what others or nobody signed', async () => {
    writeFileSync(join(folder, file), blocks(language)[0] ?? '');
    const port = await freePort();
    const env = { ...process.env, PORT: String(port), SECRET_FILE: join(folder, 'secret') };
    const child = spawn(program, [join(folder, file)], { env, stdio: ['ignore', 'pipe', 'ignore'] });
    onTestFinished(() => void child.kill());
    let printed = '';
    child.stdout.on('data', (text: Buffer) => {
      printed += text.toString();
    });
    const body = writeNotification(
      { event: 'halted', at: 1_769_900_000_000, reason: 'Zoë €' },
      { environment: 'test', sandbox: true, instance: 'i', auditHead: null },
    );
    const post = (secrets: readonly string[], aheadMs = 0) =>
      postNotification(
        { url: `http://127.0.0.1:${port}/`, secrets },
        { id: 'x', body },
        { clock: { ...systemClock, now: () => systemClock.now() + aheadMs } },
      );
    await expect.poll(() => post([SECRET]), { timeout: 60_000 }).toEqual({ delivered: true });
    expect(await post(['another-secret-16', SECRET])).toEqual({ delivered: true });
    const refused = { delivered: false, reason: 'status 401' };
    expect(await post(['another-secret-16'])).toEqual(refused);
    expect(await post([])).toEqual(refused);
    expect(await post([SECRET], -400_000)).toEqual(refused);
    expect(printed).toMatch(/^halted (null|None).*\n$/);
  });
});

describe('the page', () => {
  test('shows settings that are read', () => {
    const json = JSON.parse(blocks('json')[0] ?? '') as Record<string, unknown>;
    for (const name of ['erp.secret', 'chat.new', 'chat.old', 'smtp.password'])
      writeFileSync(join(folder, name), SECRET, { mode: 0o600 });
    expect(z.strictObject(notifyParts({ folder })).safeParse(json).error).toBeUndefined();
  });

  test('shows a notification with every field that there is, and no other', () => {
    const shown = JSON.parse(blocks('json')[1] ?? '') as Record<string, unknown>;
    expect(notificationSchema.parse(shown)).toEqual(shown);
    expect(Object.keys(shown)).toEqual(Object.keys(notificationSchema.shape));
  });

  test('names every event', () => {
    for (const event of EVENTS) expect(PAGE).toMatch(new RegExp(`^\\|.*\`${event}\`.*\\|`, 'm'));
  });
});
