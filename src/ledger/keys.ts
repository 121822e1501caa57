import { foldedName } from '../access/same-person.ts';

/*
 * The layout of the ledger in Redis. All keys begin with the prefix, whose hash tag keeps them in one slot of a cluster.
 *
 *   payrun-database       string   beside the prefix: this database is for ledgers; without it, one with keys is not ours
 *   head                  hash     instance, schema, service, safety settings, season, halt, arming counter, refused moves
 *   adoption              hash     who proposes to make a ledger here for data directories whose Redis is gone
 *   dirs                  hash     each data directory that may arm -> the server for which its intent logs were compared
 *   dir-lease:<directory> string   the host on which the directory's id is used, for as long as it says so
 *   dir-places            hash     each of them -> the host and the folder where it was seen last, for people
 *   peers                 hash     each of them -> those that it has noted on its disk, with blanks around them
 *   files, contents       hash     SHA-256 of a file, or of its rows in any order -> run id (for ever)
 *   submitted-as:<key>    string   the run that a hand-in under this key came to, for a month
 *   submission:<hash>     string   SHA-256 of what was handed in, by the hash of a person and the name of their handing in
 *   references:<bucket>   hash     hash of a folded reference -> `run id`-`line` that used it last; several with blanks between
 *                                  them where nobody can tell which was the last. With `+` behind the hash: those that had it
 *                                  before people allowed that one
 *   likely:<time>:<bucket>  hash   hash of beneficiary, amount and currency -> `run id`-`line` that had them last, for a while
 *   quotes:<bucket>       hash     quote id -> `run id`-`line` that armed it, or `-` when that was never sent
 *   known-payments:<credentials>  list  latest payments that were made under them, as their fingerprint
 *   known-as              hash     run id that Redis forgot -> the run of the same content that it is known as, and `same` for the same file
 *   stops-ahead           hash     run or payout that people stopped and that Redis forgot -> the act, until it is known again
 *   runs                  zset     run id by time of creation
 *   live                  set      runs that the sweeper walks, from their recording's end to their first report
 *   watch                 zset     finished runs by the time of their next look for returns
 *   run:<id>              hash     a run; n:<state> and m:<currency>:<outcome> are its counters; `stageEnd` is the last line that
 *                                  was released, where it has stages and not all of it was; `pace` how many rows were taken when, of
 *                                  late
 *   run:<id>:rows:<block> hash     the records of 100 lines (stored.ts): line -> record; `v` counts the commits to it. Each step of a
 *                                  history has the ms since the one before: below 0 where the clock stepped back
 *   run:<id>:states       string   one byte a line: the letter of its state, or a null byte
 *   run:<id>:slices       zset     slices (`from`-`to`) of which a payout may still be ready, by the time to look again
 *   run:<id>:dead         list     quotes that were proven dead, `line` `quote id`
 *   run:<id>:beside       list     quotes besides the present one of which no proof is known, likewise: as intent logs told of them, or
 *                                  of a payout that people settled by another payment
 *   run:<id>:events       stream   what people and payrun did to the run
 *   due                   zset     `run id`:`block` by the earliest time at which a payout in it may want something
 *   tracked               zset     the same for its accepted payments, which are followed at a pace of their own
 *   schedules             hash     name of a schedule -> what it does and when
 *   schedule:<name>       hash     what became of it: its next planned time, the last one done and the last one missed
 *   ticks                 zset     `name` `planned time` of what a schedule has to do, by the time to look again
 *   inboxes               hash     inbox -> SHA-256 of the settings under which it was watched last
 *   audit                 list     what people did, an entry of the chain in each place (src/audit/entry.ts)
 *   audit-waiting         list     what people did and no entry of the log records yet, each with its code (src/audit/entry.ts)
 *   put-back              set      number and hash of entries of the audit log that were lost and are put back
 *   weak                  list     times in which Redis was less durable than it has to be: to, from, settings
 *   outages               string   what processes see to be away now: service, disk; lives for seconds
 *   missed                set      hashes of entries of the audit log that Redis lost, once their loss was said
 *   paid:<bucket>         hash     hash of a beneficiary's identity id to whom a payment was ever accepted, kept for ever
 *   names                 hash     identity id -> when the service listed it last, and the name that it gave
 *   blocked               hash     identity id of a beneficiary to whom nothing is paid -> by whom, when and why
 *   blocked-seal          string   version and seal of that list (seals.ts)
 *   spent:<day>           hash     what was armed on a day, by currency and by currency and beneficiary, for the limits
 *   token, token-lock     string   the access token, encrypted; who is fetching a new one
 *   pace:<what>           string   when the next request of its kind may start, in microseconds
 *   rate                  string   the payment requests a second that all workers share, where they move with the answers
 *   yes                   hash     quote to which the service said yes, and whose intent line was not compared yet -> payment or ''
 *   wait                  string   lives as long as the service asked everybody to wait (429)
 *   turn:<what>           string   one process does this for the present period
 *   news                  zset     runs of which something may have to be told, by time of creation
 *   told                  hash     what was told of the ledger: halt, full disks; since when, and up to which run; since when each
 *                                  endpoint is told of single payouts
 *   run:<id>:told         hash     what was told of a run, and how far its events were read
 *   run:<id>:told:<endpoint>      string   the letter of each line's state when the endpoint was told of its payout last
 *   people                hash     users, keys of programs and what is proposed about them, with a version and the last call (people.ts)
 *   people-used           hash     id of a program's key -> when it was used last
 *   session:<hash>        string   a session, by the SHA-256 of its id, for as long as it may live
 *   sessions-of:<name>    zset     hashes of a user's sessions by when they began, also of some that are over
 *   sign-in:<what>        hash     tries of an address, of an account, or of both, by their hash; until when the next one waits
 *   sign-in:known:<hash>  string   an account and an address from which it signed in lately
 *   sign-in:used:<hash>   string   a code of an authenticator app that is not taken again
 *   sign-in:offer:<hash>  string   the secret of an authenticator app that a user is setting up
 *   sign-in:refused       string   refused sign-ins of the present hour
 *   outbox-waiting        hash     endpoint -> notifications that wait for it; each endpoint that there ever was
 *   outbox-lost           hash     endpoint -> dead letters that were dropped for want of room
 *   outbox:<endpoint>:due         zset   run ids, or `ledger`, for which something waits, by the time of the next try
 *   outbox:<endpoint>:in:<run>    list   what waits, the next to be delivered first
 *   outbox:<endpoint>:try:<run>   hash   how often its first one failed, why, and who is delivering it
 *   outbox:<endpoint>:dead        list   what was given up
 */

export interface LedgerKeys {
  /** Given to scripts as their first key; they build the names below from it. */
  readonly prefix: string;
  readonly head: string;
  readonly adoption: string;
  readonly dirs: string;
  readonly dirPlaces: string;
  readonly knownAs: string;
  readonly stopsAhead: string;
  readonly runs: string;
  readonly live: string;
  readonly watch: string;
  readonly due: string;
  readonly tracked: string;
  readonly ticks: string;
  readonly audit: string;
  readonly auditWaiting: string;
  readonly missed: string;
  readonly putBack: string;
  readonly weak: string;
  readonly outages: string;
  readonly names: string;
  readonly blocked: string;
  readonly blockedSeal: string;
  readonly token: string;
  readonly tokenLock: string;
  submission(name: string): string;
  run(id: string): string;
  rows(id: string, block: number): string;
  states(id: string): string;
  slices(id: string): string;
  dead(id: string): string;
  beside(id: string): string;
  events(id: string): string;
  turn(what: string): string;
  readonly inboxes: string;
  readonly people: string;
  readonly peopleUsed: string;
  session(hash: string): string;
  sessionsOf(name: string): string;
  signIn(what: string): string;
  readonly told: string;
  /** The letters of a run's lines as an endpoint was told of them. */
  toldStates(id: string, endpoint: string): string;
  readonly outboxWaiting: string;
  readonly outboxLost: string;
  outboxDue(endpoint: string): string;
  outboxTry(endpoint: string, queue: string): string;
  outboxDead(endpoint: string): string;
}

/** The names of the ledger's keys below a prefix such as `{payrun}`. */
export function ledgerKeys(prefix: string): LedgerKeys {
  return {
    prefix,
    head: `${prefix}:head`,
    adoption: `${prefix}:adoption`,
    dirs: `${prefix}:dirs`,
    dirPlaces: `${prefix}:dir-places`,
    knownAs: `${prefix}:known-as`,
    stopsAhead: `${prefix}:stops-ahead`,
    runs: `${prefix}:runs`,
    live: `${prefix}:live`,
    watch: `${prefix}:watch`,
    due: `${prefix}:due`,
    tracked: `${prefix}:tracked`,
    ticks: `${prefix}:ticks`,
    audit: `${prefix}:audit`,
    auditWaiting: `${prefix}:audit-waiting`,
    missed: `${prefix}:missed`,
    putBack: `${prefix}:put-back`,
    weak: `${prefix}:weak`,
    outages: `${prefix}:outages`,
    names: `${prefix}:names`,
    blocked: `${prefix}:blocked`,
    blockedSeal: `${prefix}:blocked-seal`,
    token: `${prefix}:token`,
    tokenLock: `${prefix}:token-lock`,
    submission: (name) => `${prefix}:submission:${name}`,
    run: (id) => `${prefix}:run:${id}`,
    rows: (id, block) => `${prefix}:run:${id}:rows:${block}`,
    states: (id) => `${prefix}:run:${id}:states`,
    slices: (id) => `${prefix}:run:${id}:slices`,
    dead: (id) => `${prefix}:run:${id}:dead`,
    beside: (id) => `${prefix}:run:${id}:beside`,
    events: (id) => `${prefix}:run:${id}:events`,
    turn: (what) => `${prefix}:turn:${what}`,
    inboxes: `${prefix}:inboxes`,
    people: `${prefix}:people`,
    peopleUsed: `${prefix}:people-used`,
    session: (hash) => `${prefix}:session:${hash}`,
    sessionsOf: (name) => `${prefix}:sessions-of:${foldedName(name)}`,
    signIn: (what) => `${prefix}:sign-in:${what}`,
    told: `${prefix}:told`,
    toldStates: (id, endpoint) => `${prefix}:run:${id}:told:${endpoint}`,
    outboxWaiting: `${prefix}:outbox-waiting`,
    outboxLost: `${prefix}:outbox-lost`,
    outboxDue: (endpoint) => `${prefix}:outbox:${endpoint}:due`,
    outboxTry: (endpoint, queue) => `${prefix}:outbox:${endpoint}:try:${queue}`,
    outboxDead: (endpoint) => `${prefix}:outbox:${endpoint}:dead`,
  };
}

/** Stands in the place of the payout of a quote that was armed and never sent: it is free, and its intent line is known. */
export const UNSENT = '-';

const QUOTE_BUCKET_CHARACTERS = 4;
const REFERENCE_BUCKET_CHARACTERS = 4;
const PAID_BUCKET_CHARACTERS = 3;

/** Lines whose records stand in one hash, which Redis keeps as a whole. */
export const LINES_PER_BLOCK = 100;

/** The block of a line. */
export function blockOf(line: number): number {
  return Math.floor(line / LINES_PER_BLOCK);
}

/** The hash that holds a quote's or a payment's payout. */
export function quotesKey(prefix: string, id: string): string {
  return `${prefix}:quotes:${id.slice(0, QUOTE_BUCKET_CHARACTERS)}`;
}

/** Latest payments under some credentials that are kept to be looked for. */
export const KNOWN_PAYMENTS_MAX = 4;

/** The list of the latest payments that were made under some credentials. */
export function knownPaymentsKey(prefix: string, credentials: string): string {
  return `${prefix}:known-payments:${credentials}`;
}

/** The hash that holds the payout of a reference, by the hash of the reference. */
export function referencesKey(prefix: string, hash: string): string {
  return `${prefix}:references:${hash.slice(0, REFERENCE_BUCKET_CHARACTERS)}`;
}

/** The hash that holds a beneficiary to whom something was paid, by the hash of their identity id. */
export function paidKey(prefix: string, hash: string): string {
  return `${prefix}:paid:${hash.slice(0, PAID_BUCKET_CHARACTERS)}`;
}

/** The hash that holds what was armed on a day, counted from 1970-01-01 by the clock of the limits. */
export function spentKey(prefix: string, day: number): string {
  return `${prefix}:spent:${day}`;
}

/** Of how many ms the likely duplicates stand in one bucket, however far back they are looked for. */
export const LIKELY_PERIOD_MS = 7 * 86_400_000;
/** One that waits is found for so many periods at least. */
const LIKELY_PERIODS_MIN = 5;

/** How many periods before the present one may have a like payout that counts; `withinMs`: for how long one counts that was settled. */
export function likelyPeriodsBack(withinMs: number): number {
  return Math.max(Math.ceil(withinMs / LIKELY_PERIOD_MS), LIKELY_PERIODS_MIN);
}

/** Of a beneficiary's identity id, as scripts make it: the first 16 digits of its SHA-1. */
export const BENEFICIARY_HASH_CHARACTERS = 16;

/** The same names for scripts; `P` is the prefix. */
export const LUA_KEYS = `
local P = KEYS[1]
local HEAD, DIRS, RUNS, LIVE = P .. ':head', P .. ':dirs', P .. ':runs', P .. ':live'
local FILES, CONTENTS, WATCH, DUE, WAIT = P .. ':files', P .. ':contents', P .. ':watch', P .. ':due', P .. ':wait'
local TRACKED, AUDIT, AUDIT_WAITING, YES = P .. ':tracked', P .. ':audit', P .. ':audit-waiting', P .. ':yes'
local PEERS, BLOCKED, BLOCKED_SEAL = P .. ':peers', P .. ':blocked', P .. ':blocked-seal'
local PEOPLE, WEAK, STOPS_AHEAD, KNOWN_AS = P .. ':people', P .. ':weak', P .. ':stops-ahead', P .. ':known-as'
local function runKey(run) return P .. ':run:' .. run end
local function rowsKey(run, block) return P .. ':run:' .. run .. ':rows:' .. block end
local function statesKey(run) return P .. ':run:' .. run .. ':states' end
local function slicesKey(run) return P .. ':run:' .. run .. ':slices' end
local function deadKey(run) return P .. ':run:' .. run .. ':dead' end
local function besideKey(run) return P .. ':run:' .. run .. ':beside' end
local function eventsKey(run) return P .. ':run:' .. run .. ':events' end
local function quotesKey(quote) return P .. ':quotes:' .. string.sub(quote, 1, 4) end
local function knownPaymentsKey(credentials) return P .. ':known-payments:' .. credentials end
local function likelyKey(period, hash) return P .. ':likely:' .. period .. ':' .. string.sub(hash, 1, 2) end
local function paidKey(hash) return P .. ':paid:' .. string.sub(hash, 1, 3) end
local function spentKey(day) return P .. ':spent:' .. day end
local function signInKey(what) return P .. ':sign-in:' .. what end
local function leaseKey(dir) return P .. ':dir-lease:' .. dir end
local function referencesKey(hash) return P .. ':references:' .. string.sub(hash, 1, 4) end
`;

/** What is told of the ledger as a whole waits in a queue of its own, beside those of the runs. */
export const LEDGER_QUEUE = 'ledger';

/** The names of what is told, for scripts; they stand below `LUA_KEYS`. */
export const LUA_OUTBOX_KEYS = `
local NEWS, TOLD = P .. ':news', P .. ':told'
local OUTBOX_WAITING, OUTBOX_LOST = P .. ':outbox-waiting', P .. ':outbox-lost'
local function toldKey(queue) return queue == '${LEDGER_QUEUE}' and TOLD or runKey(queue) .. ':told' end
local function toldStatesKey(run, endpoint) return toldKey(run) .. ':' .. endpoint end
-- Drops what endpoints were told of the payouts of a run.
local function forgetPayouts(run)
  for _, field in ipairs(redis.call('HKEYS', toldKey(run))) do
    local endpoint = string.match(field, '^payouts:(.*)$')
    if endpoint then redis.call('UNLINK', toldStatesKey(run, endpoint)) end
  end
end
local function outboxKey(endpoint, what) return P .. ':outbox:' .. endpoint .. ':' .. what end
local function outboxDueKey(endpoint) return outboxKey(endpoint, 'due') end
local function outboxDeadKey(endpoint) return outboxKey(endpoint, 'dead') end
local function outboxQueueKey(endpoint, queue) return outboxKey(endpoint, 'in:' .. queue) end
local function outboxTryKey(endpoint, queue) return outboxKey(endpoint, 'try:' .. queue) end
`;
