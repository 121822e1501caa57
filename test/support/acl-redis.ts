import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type NetworkRedis, startNetworkRedis } from './network-redis.ts';
import { ROOT } from './payrun-processes.ts';

/** docs/redis.acl as it is shipped. */
export const ACL_TEXT = readFileSync(join(ROOT, 'docs/redis.acl'), 'utf8');
/** Of the user `payrun`. */
const ACL_PASSWORD = 'a-password';

export interface AclRedis extends NetworkRedis {
  /** The address for payrun. */
  readonly url: string;
  /** The address of somebody who may do anything. */
  readonly adminUrl: string;
}

/** A Redis with the users of docs/redis.acl, and one more who looks on; further arguments go to the server. */
export async function startAclRedis(...extra: readonly string[]): Promise<AclRedis> {
  const dir = mkdtempSync(join(tmpdir(), 'payrun-acl-'));
  const file = join(dir, 'users.acl');
  const hash = createHash('sha256').update(ACL_PASSWORD).digest('hex');
  writeFileSync(file, `${ACL_TEXT.replace('PASSWORD_SHA256', hash)}user admin on >admin ~* &* +@all\n`);
  const server = await startNetworkRedis('--aclfile', file, ...extra);
  return {
    ...server,
    url: `redis://payrun:${ACL_PASSWORD}@${server.host}`,
    adminUrl: `redis://admin:admin@${server.host}`,
    async stop() {
      await server.stop();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
