import { join } from 'node:path';
import { systemClock, systemRandom } from '../../src/clock.ts';
import { hashReference } from '../../src/intake/row/reference-hash.ts';
import type { IntentLine } from '../../src/ledger/intents/intent-line.ts';
import { intentFiles, openIntentLog } from '../../src/ledger/intents/intent-log.ts';
import { notePeers } from '../../src/ledger/intents/peers.ts';
import type { Ledger } from '../../src/ledger/ledger.ts';
import { ensureSeason } from '../../src/ledger/season/season.ts';
import { silentLog } from '../../src/log.ts';
import type { Payout } from '../../src/payout.ts';
import { armPayout } from './test-ledger.ts';

const DEADLINE_MS = 20;

/** A data directory as its workers use it: `path` holds its intent logs. */
export interface Host {
  readonly ledger: Ledger;
  readonly dataDirId: string;
  readonly path: string;
}

/** The directory of that id below a folder, on a ledger. */
export function hostOf(folder: string, ledger: Ledger, dataDirId: string): Host {
  return { ledger, dataDirId, path: join(folder, dataDirId) };
}

/** Directories that keep the season closed, once this one has compared its logs. */
export async function joinSeason({ ledger, dataDirId, path }: Host): Promise<readonly string[]> {
  return await ensureSeason({
    state: ledger.state,
    dataDir: path,
    dataDirId,
    armDeadlineMs: DEADLINE_MS,
    compareDecisions: async () => {},
    arms: true,
    clock: systemClock,
    log: silentLog,
  });
}

/** Lets new directories arm: each of them has noted the others, as workers do at every sweep. */
export async function joinTogether(hosts: readonly Host[]): Promise<void> {
  for (const { ledger, dataDirId, path } of hosts) {
    await ledger.state.enterDir(dataDirId, (await intentFiles(path)).length > 0);
  }
  for (const { ledger, dataDirId, path } of hosts) {
    const deps = { state: ledger.state, dataDir: path, dataDirId };
    await notePeers(deps, await ledger.state.season());
  }
  for (const host of hosts) await joinSeason(host);
}

/** Arms payouts and writes their intent lines, as a worker of that data directory does. */
export async function armOn(host: Host, runId: string, lines: readonly number[]): Promise<Payout[]> {
  const log = openIntentLog(host.path, { clock: systemClock, random: systemRandom });
  const armed: Payout[] = [];
  const fileSha256 = (await host.ledger.runs.read(runId))?.fileSha256 ?? '';
  for (const line of lines) {
    const payout = await armPayout(host.ledger, { runId, line });
    armed.push(payout);
    await log.append(intentOf(payout, fileSha256));
  }
  await log.close();
  return armed;
}

function intentOf(payout: Payout, fileSha256: string): IntentLine {
  return {
    runId: payout.runId,
    line: payout.line,
    fileSha256,
    referenceHash: hashReference(payout.row.reference),
    attempt: payout.attempts,
    quoteId: payout.quoteId ?? '',
    quoteExpiresAt: payout.quoteExpiresAt,
    bodyHash: 'body',
    armingCounter: payout.armingCounter,
    owner: payout.armedBy ?? '',
    armedAt: payout.armedAt ?? 0,
    credentials: payout.credentials ?? '',
  };
}
