import { mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { ifThere, writeAtomically } from '../../files.ts';
import type { LedgerState, Season } from '../season/ledger-state.ts';

/** What is needed to note the other data directories. */
export interface PeersDeps {
  readonly state: Pick<LedgerState, 'notePeers'>;
  readonly dataDir: string;
  readonly dataDirId: string;
}

const schema = z.object({ dataDirs: z.array(z.string().min(1)) });

/** The data directories that may arm, as this one has noted them. */
export async function readPeers(dataDir: string): Promise<readonly string[]> {
  const text = await ifThere(readFile(join(dataDir, 'peers.json'), 'utf8'));
  return text === undefined ? [] : schema.parse(JSON.parse(text)).dataDirs;
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

async function writePeers({ dataDir }: PeersDeps, dataDirs: readonly string[]): Promise<void> {
  await mkdir(dataDir, { recursive: true, mode: 0o700 });
  await writeAtomically(join(dataDir, 'peers.json'), [`${JSON.stringify({ dataDirs })}\n`]);
}
