import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { codeOf } from '../refusal.ts';

const schema = z.strictObject({
  url: z.url(),
  tenantId: z.string(),
  environment: z.literal('test'),
  audience: z.string(),
  clientId: z.string(),
  clientSecret: z.string(),
});

/** How the sandbox that a process runs for a data directory is reached. */
export type RunningSandbox = z.infer<typeof schema>;

/** Notes it for the other processes of the data directory; what the last one noted is gone. */
export async function noteRunningSandbox(dataDir: string, running: RunningSandbox): Promise<void> {
  const path = pathOf(dataDir);
  const part = `${path}.part`;
  await writeFile(part, `${JSON.stringify(running)}\n`, { mode: 0o600 });
  await rename(part, path);
}

/** As it was noted last, or undefined; the process that noted it may have ended. */
export async function readRunningSandbox(dataDir: string): Promise<RunningSandbox | undefined> {
  try {
    return schema.parse(JSON.parse(await readFile(pathOf(dataDir), 'utf8')));
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}

function pathOf(dataDir: string): string {
  return join(dataDir, 'sandbox-running.json');
}
