/*
 * The layout of the ledger in Redis. All keys begin with the prefix, whose hash tag keeps them in one slot of a cluster.
 *
 *   payrun-database       string   beside the prefix: this database is for ledgers; without it, one with keys is not ours
 *   head                  hash     instance, schema, service, safety settings, season, halt, arming counter, refused moves
 *   adoption              string   who proposes to make a ledger here for data directories whose Redis is gone
 *   dirs                  hash     each data directory that may arm -> the server for which its intent logs were compared
 *   peers                 hash     each of them -> those that it has noted on its disk, with blanks around them
 *   files, contents       hash     SHA-256 of a file, or of its rows in any order -> run id (for ever)
 *   references:<bucket>   hash     hash of a folded reference -> `run id`-`line` that used it last
 *   quotes:<bucket>       hash     quote id -> `run id`-`line` that armed it, or `-` when that was never sent
 *   runs                  zset     run id by time of creation
 *   live                  set      runs that the sweeper walks, from their recording's end to their first report
 *   watch                 zset     finished runs by the time of their next look for returns
 *   run:<id>              hash     a run; n:<state> and m:<currency>:<outcome> are its counters
 *   run:<id>:in:<state>   bitmap   lines of the payouts in that state (bit = line)
 *   run:<id>:slices       zset     slices (`from`-`to`) of which a payout may still be ready, by the time to look again
 *   run:<id>:dead         list     quotes that were proven dead, `line` `quote id`
 *   run:<id>:events       stream   what people and payrun did to the run
 *   p:<id>:<line>         hash     a payout, or a row that intake refused (record.ts)
 *   due                   zset     `run id`-`line` by the time at which the payout wants something
 *   tracked               zset     the same for accepted payments, which are followed at a pace of their own
 *   audit                 list     what people did, an entry of the chain in each place (src/audit/entry.ts)
 *   token, token-lock     string   the access token, encrypted; who is fetching a new one
 *   pace:<what>           string   when the next request of its kind may start, in microseconds
 *   wait                  string   lives as long as the service asked everybody to wait (429)
 *   turn:<what>           string   one process does this for the present period
 */

export interface LedgerKeys {
  /** Given to scripts as their first key; they build the names below from it. */
  readonly prefix: string;
  readonly head: string;
  readonly dirs: string;
  readonly runs: string;
  readonly live: string;
  readonly watch: string;
  readonly audit: string;
  readonly token: string;
  readonly tokenLock: string;
  run(id: string): string;
  index(id: string, state: string): string;
  slices(id: string): string;
  dead(id: string): string;
  events(id: string): string;
  turn(what: string): string;
}

/** The names of the ledger's keys below a prefix such as `{payrun}`. */
export function ledgerKeys(prefix: string): LedgerKeys {
  return {
    prefix,
    head: `${prefix}:head`,
    dirs: `${prefix}:dirs`,
    runs: `${prefix}:runs`,
    live: `${prefix}:live`,
    watch: `${prefix}:watch`,
    audit: `${prefix}:audit`,
    token: `${prefix}:token`,
    tokenLock: `${prefix}:token-lock`,
    run: (id) => `${prefix}:run:${id}`,
    index: (id, state) => `${prefix}:run:${id}:in:${state}`,
    slices: (id) => `${prefix}:run:${id}:slices`,
    dead: (id) => `${prefix}:run:${id}:dead`,
    events: (id) => `${prefix}:run:${id}:events`,
    turn: (what) => `${prefix}:turn:${what}`,
  };
}

/** Stands in the place of the payout of a quote that was armed and never sent: it is free, and its intent line is known. */
export const UNSENT = '-';

const QUOTE_BUCKET_CHARACTERS = 4;

/** The hash that holds a quote's or a payment's payout. */
export function quotesKey(prefix: string, id: string): string {
  return `${prefix}:quotes:${id.slice(0, QUOTE_BUCKET_CHARACTERS)}`;
}

/** The same names for scripts; `P` is the prefix. */
export const LUA_KEYS = `
local P = KEYS[1]
local HEAD, DIRS, RUNS, LIVE = P .. ':head', P .. ':dirs', P .. ':runs', P .. ':live'
local FILES, CONTENTS, WATCH, DUE, WAIT = P .. ':files', P .. ':contents', P .. ':watch', P .. ':due', P .. ':wait'
local TRACKED, AUDIT = P .. ':tracked', P .. ':audit'
local PEERS = P .. ':peers'
local function runKey(run) return P .. ':run:' .. run end
local function indexKey(run, state) return P .. ':run:' .. run .. ':in:' .. state end
local function slicesKey(run) return P .. ':run:' .. run .. ':slices' end
local function deadKey(run) return P .. ':run:' .. run .. ':dead' end
local function eventsKey(run) return P .. ':run:' .. run .. ':events' end
local function payoutKey(run, line) return P .. ':p:' .. run .. ':' .. line end
local function quotesKey(quote) return P .. ':quotes:' .. string.sub(quote, 1, 4) end
local function referencesKey(hash) return P .. ':references:' .. string.sub(hash, 1, 4) end
`;
