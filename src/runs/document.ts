import { SANDBOX_NAME } from '../config/config.ts';
import { capabilitiesThatHold } from '../ledger/intents/safety.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Run } from '../payout.ts';
import { type RunDocument, runDocument } from '../report/document.ts';
import { reportPaths } from './report-paths.ts';

export interface DocumentDeps {
  readonly config: { readonly reportDir: string };
  readonly serviceName: string;
  readonly ledger: Pick<Ledger, 'state'>;
}

/** A run as every door gives it as JSON, with the reports that lie in the report folder of this host. */
export async function documentOf({ config, serviceName, ledger }: DocumentDeps, run: Run): Promise<RunDocument> {
  const [head, reports] = await Promise.all([ledger.state.read(), reportPaths(config.reportDir, run)]);
  return runDocument(run, { sandbox: serviceName === SANDBOX_NAME, capabilities: capabilitiesThatHold(head), reports });
}
