import type { JobQueues } from '../../jobs/open.ts';
import type { App } from '../app.ts';
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
import { type LedgerOptions, withLedger } from './open.ts';

type LedgerCommandWords<
  Takes extends ArgumentsWords,
  Options extends OptionsWords,
  Above extends OptionsWords,
> = CommandWords<Takes, Options, Above> & Omit<LedgerOptions, 'sandbox'>;

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
    return await withLedger((app, stop) => run(app, given, stop), options);
  });
}
