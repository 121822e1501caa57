import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { Random } from '../../clock.ts';
import { codeOf } from '../../refusal.ts';
import type { LedgerState, Season } from '../season/ledger-state.ts';
import { syncFolder } from './data-dir.ts';

/** What is needed to note the other data directories. */
export interface PeersDeps {
  readonly state: Pick<LedgerState, 'notePeers'>;
  readonly dataDir: string;
  readonly dataDirId: string;
  readonly random: Random;
}

const schema = z.object({ dataDirs: z.array(z.string().min(1)) });

/** The data directories that may arm, as this one has noted them. */
export async function readPeers(dataDir: string): Promise<readonly string[]> {
  try {
    return schema.parse(JSON.parse(await readFile(join(dataDir, 'peers.json'), 'utf8'))).dataDirs;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
}

/**
 * Notes on disk which data directories may arm, then says so in the ledger: none of them arms before each other one has
 * noted it, so that no Redis that goes back in time can make all of them forget it (architecture.md, rule 4). Nothing that was noted
 * is forgotten, not even a directory that people gave up: once Redis is lost too, nobody else knows that it ever sent
 * anything. Gives what is noted.
 */
export async function notePeers(deps: PeersDeps, season: Season): Promise<readonly string[]> {
  const known = await readPeers(deps.dataDir);
  const all = new Set([...season.dataDirIds, deps.dataDirId, ...known]);
  const peers = [...all].toSorted();
  if (peers.join() !== known.join()) await writePeers(deps, peers);
  await deps.state.notePeers(deps.dataDirId, peers);
  return peers;
}

async function writePeers({ dataDir, random }: PeersDeps, dataDirs: readonly string[]): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const draft = join(dataDir, `peers.json.${random.uuid()}`);
  await writeFile(draft, `${JSON.stringify({ dataDirs })}\n`, { mode: 0o600, flush: true });
  await rename(draft, join(dataDir, 'peers.json'));
  await syncFolder(dataDir);
}
