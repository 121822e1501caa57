import type { Clock } from '../clock.ts';
import type { CheckedFile } from '../intake/check-file.ts';
import { openProblemList, type ProblemGroup } from '../intake/problems/problem-list.ts';
import { type Problem, problemOf } from '../intake/problems/problems.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Log } from '../log.ts';
import type { PayoutRow, RefusedRow } from '../payout.ts';
import type { Answer } from '../service/answer.ts';
import { parseErrors, parseIdentities } from '../service/replies.ts';
import { TokenRefused, TokenUnavailable } from '../service/token.ts';

/** How old a list may be that a check begins with. */
const FRESH_MS = 60_000;
/** A service that says nothing for so long is not waited for: a quote for a wrong identity costs nothing either. */
const ANSWER_MS_MAX = 10_000;
const NO_IDENTITY = 'USR_103';

const TYPES = ['BENEFICIARY', 'ORIGINATOR'] as const;
type IdentityType = (typeof TYPES)[number];

/** The identities of a type with the names that the payer gave them; null where the service has none of it. */
type List = ReadonlyMap<string, string | null> | null;
/** Undefined: the service did not say. */
type Lists = Readonly<Record<IdentityType, List | undefined>>;

/** What the service's list of identities says of a file. */
export interface IdentityFindings {
  /** At most as many as intake tells, of `problemsTotal`. */
  readonly problems: readonly Problem[];
  readonly problemsTotal: number;
  readonly problemGroups: readonly ProblemGroup[];
  /** Rows that have one. */
  readonly refused: number;
  readonly warnings: readonly Problem[];
  /** Of the rows without problems, as intake makes it of all of them; null where the service listed nobody. */
  readonly acceptedHash: string | null;
}

const NOTHING_FOUND: IdentityFindings = {
  problems: [],
  problemsTotal: 0,
  problemGroups: [],
  refused: 0,
  warnings: [],
  acceptedHash: null,
};

export interface IdentityLister {
  listIdentities(type: IdentityType): Promise<Answer>;
}

export interface IdentityBook {
  /** Looks at every identity of a checked file. */
  check(path: string, checked: CheckedFile): Promise<IdentityFindings>;
  /** The row, or the same as a refused one when the last check's lists speak against it. */
  judge(row: PayoutRow): PayoutRow | RefusedRow;
}

/** Loaded by who checks a file: most commands only look at runs. */
async function loadReading() {
  return await Promise.all([import('../intake/read-file.ts'), import('../intake/row/row-hash.ts')]);
}

/**
 * The identities that the service lists (interface page, section 4). The list may be incomplete:
 * one that is missing from it brings a warning, also after the list was read anew. Refused is one that is listed as another
 * type, and any when the service says that it has none of the type at all.
 */
export function openIdentityBook(deps: {
  readonly service: IdentityLister;
  readonly clock: Clock;
  readonly log: Log;
}): IdentityBook {
  let lists: Lists = { BENEFICIARY: undefined, ORIGINATOR: undefined };
  let readAt = Number.NEGATIVE_INFINITY;

  async function readOne(type: IdentityType): Promise<List | undefined> {
    const list = await readList(deps, type);
    if (list !== 'silent' && !(list instanceof Error)) return list;
    const reason = list === 'silent' ? type : list.message;
    deps.log.warn('the service did not list its identities: they are not checked', { reason });
    return undefined;
  }

  async function readLists(): Promise<void> {
    const [beneficiaries, originators] = await Promise.all(TYPES.map(readOne));
    lists = { BENEFICIARY: beneficiaries, ORIGINATOR: originators };
    readAt = deps.clock.monotonic();
  }

  async function readStaleLists(): Promise<void> {
    if (deps.clock.monotonic() - readAt > FRESH_MS) await readLists();
  }

  function faultOf(row: PayoutRow): Problem | undefined {
    return cellsOf(row)
      .map((cell) => problemOfCell(cell, lists))
      .find((problem) => problem?.code !== 'W_IDENTITY' && problem !== undefined);
  }

  async function lookThrough(path: string, checked: CheckedFile, problemsMax: number): Promise<IdentityFindings> {
    const [{ readPayoutFile }, { openContentHash }] = await loadReading();
    const problems = openProblemList(problemsMax);
    const warnings = new Map<string, Problem>();
    const accepted = openContentHash();
    let refused = 0;
    for await (const rows of readPayoutFile(path, checked)) {
      for (const row of rows.filter((one) => 'reference' in one)) {
        const found = cellsOf(row).flatMap((cell) => problemOfCell(cell, lists) ?? []);
        const faults = found.filter(({ code }) => code !== 'W_IDENTITY');
        if (faults.length > 0) refused++;
        else accepted.addRow(row);
        for (const fault of faults) problems.add(fault);
        const doubts = warnings.size < problemsMax ? found.filter(({ code }) => code === 'W_IDENTITY') : [];
        for (const doubt of doubts.filter((one) => !warnings.has(aboutOf(one)))) warnings.set(aboutOf(doubt), doubt);
      }
    }
    return {
      problems: problems.kept(),
      problemsTotal: problems.total(),
      problemGroups: problems.groups(),
      refused,
      warnings: [...warnings.values()],
      acceptedHash: accepted.digest(),
    };
  }

  return {
    async check(path, checked) {
      const { problemsMax } = checked.reading.limits;
      await readStaleLists();
      if (TYPES.every((type) => lists[type] === undefined)) return NOTHING_FOUND;
      const findings = await lookThrough(path, checked, problemsMax);
      const isFresh = deps.clock.monotonic() - readAt < ANSWER_MS_MAX;
      if ((findings.refused === 0 && findings.warnings.length === 0) || isFresh) return findings;
      await readLists();
      return await lookThrough(path, checked, problemsMax);
    },
    judge(row) {
      const fault = faultOf(row);
      return fault === undefined ? row : refusedAs(row, fault);
    },
  };
}

/** One id is warned of once in each column that has it. */
function aboutOf({ column, value }: Problem): string {
  return `${column} ${value}`;
}

/**
 * Notes in the ledger what the service calls its identities, for everybody who shows rows: they never wait for the service. What
 * it does not list, or not in time, keeps the name that it had. Returns how many names were noted.
 */
export async function refreshNames(deps: {
  readonly service: IdentityLister;
  readonly ledger: Pick<Ledger, 'names'>;
  readonly clock: Clock;
}): Promise<number> {
  const lists = await Promise.all(TYPES.map((type) => readList(deps, type)));
  const listed = lists.flatMap((list) =>
    list === null || list === 'silent' || list instanceof Error ? [] : [...list],
  );
  const named = listed.flatMap(([id, name]) =>
    name === null || name === '' ? [] : [[id.toLowerCase(), name] as const],
  );
  const names = new Map(named);
  if (names.size > 0) await deps.ledger.names.note(names, deps.clock.now());
  return names.size;
}

/** The list; why it could not be had. */
async function readList(
  { service, clock }: { service: IdentityLister; clock: Clock },
  type: IdentityType,
): Promise<List | 'silent' | Error> {
  const waiting = new AbortController();
  const late = clock.sleep(ANSWER_MS_MAX, waiting.signal).then(() => undefined);
  try {
    const answer = await Promise.race([service.listIdentities(type), late]);
    const list = answer === undefined ? undefined : listOf(answer, type);
    return list === undefined ? 'silent' : list;
  } catch (error) {
    if (!(error instanceof TokenRefused || error instanceof TokenUnavailable)) throw error;
    return error;
  } finally {
    waiting.abort();
  }
}

function listOf(answer: Answer, type: IdentityType): List | undefined {
  if (answer.kind !== 'answered') return undefined;
  if (answer.status === 404 && parseErrors(answer.json).some(({ code }) => code === NO_IDENTITY)) return null;
  const identities = answer.status === 200 ? parseIdentities(answer.json) : undefined;
  // A list without anybody in it speaks against nobody: where there is none of a type, the service answers 404.
  if (identities === undefined || identities.length === 0) return undefined;
  const own = identities.filter(({ identityType }) => identityType === null || identityType === type);
  return new Map(own.map(({ identityId, nickName }) => [identityId, nickName]));
}

interface IdentityCell {
  readonly line: number;
  readonly column: 'beneficiaryIdentityId' | 'originatorIdentityId';
  readonly type: IdentityType;
  readonly id: string;
}

function cellsOf({ line, beneficiaryIdentityId, originatorIdentityId }: PayoutRow): IdentityCell[] {
  const beneficiary = {
    line,
    column: 'beneficiaryIdentityId',
    type: 'BENEFICIARY',
    id: beneficiaryIdentityId,
  } as const;
  if (originatorIdentityId === null) return [beneficiary];
  return [beneficiary, { line, column: 'originatorIdentityId', type: 'ORIGINATOR', id: originatorIdentityId }];
}

const CODES = { BENEFICIARY: 'E_BENEFICIARY', ORIGINATOR: 'E_ORIGINATOR' } as const;
const ROLES = { BENEFICIARY: 'a beneficiary', ORIGINATOR: 'an originator' } as const;
const OTHERS = { BENEFICIARY: 'ORIGINATOR', ORIGINATOR: 'BENEFICIARY' } as const;

function problemOfCell({ line, column, type, id }: IdentityCell, lists: Lists): Problem | undefined {
  const list = lists[type];
  const place = { line, column, value: id };
  if (list?.has(id) === true) return undefined;
  const word = type.toLowerCase();
  if (lists[OTHERS[type]]?.has(id) === true) {
    return problemOf(CODES[type], {
      ...place,
      facts: { found: `stands for ${ROLES[OTHERS[type]]} at the payments service` },
    });
  }
  if (list === null) {
    return problemOf(CODES[type], {
      ...place,
      facts: { found: `is unknown: the payments service has no ${word} at all` },
    });
  }
  return list === undefined ? undefined : problemOf('W_IDENTITY', { ...place, facts: { found: word } });
}

function refusedAs(row: PayoutRow, { code, message }: Problem): RefusedRow {
  const { line, amount, ...rest } = row;
  const cells = Object.entries(rest).filter((entry): entry is [string, string] => typeof entry[1] === 'string');
  return { line, amount, cells: Object.fromEntries(cells), code, message };
}
