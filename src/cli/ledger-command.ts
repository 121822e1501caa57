import type { JobQueues } from '../../jobs/open.ts';
import type { App } from '../app.ts';
import { Refusal } from '../refusal.ts';
import {
  type ArgumentsWords,
  type CommandWords,
  command,
  type Ending,
  type Given,
  type MakeCommand,
  type Nothing,
  type OptionsWords,
} from './command.ts';
import type { ExitCode } from './exit-code.ts';
import { type LedgerOptions, withLedger } from './open.ts';

type LedgerCommandWords<
  Takes extends ArgumentsWords,
  Options extends OptionsWords,
  Above extends OptionsWords,
> = CommandWords<Takes, Options, Above> &
  Omit<LedgerOptions, 'sandbox'> & {
    /** What is told of a ledger that cannot be reached, where that says more than usual. */
    readonly unreachable?: (refusal: Refusal) => Refusal;
  };

/**
 * A command that looks at the ledger or steers runs: it is opened before `run`, as `withLedger` opens it. It says of which
 * service and ledger it answers, unless a program is to read it, or its answer has that itself.
 */
export function ledgerCommand<
  const Takes extends ArgumentsWords = Nothing,
  const Options extends OptionsWords = Nothing,
  const Above extends OptionsWords = Nothing,
>(
  name: string,
  words: LedgerCommandWords<Takes, Options, Above>,
  run: (app: App<JobQueues>, given: Given<Takes, Options & Above>, stop: AbortSignal) => Ending,
): MakeCommand {
  return command(name, words, async (given) => {
    const sandbox = 'sandbox' in given && given['sandbox'] === true;
    const isJson = 'json' in given && given['json'] === true;
    const options = { ...words, sandbox, tellsPlace: words.tellsPlace ?? !isJson };
    let isReached = false;
    const reached = async (app: App<JobQueues>, stop: AbortSignal): Promise<ExitCode | undefined> => {
      isReached = true;
      return await run(app, given, stop);
    };
    return await withLedger(reached, options).catch((error: unknown) => {
      const isUnreachable = !isReached && error instanceof Refusal && error.kind === 'unavailable';
      throw isUnreachable && words.unreachable !== undefined ? words.unreachable(error) : error;
    });
  });
}
