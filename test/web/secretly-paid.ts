import { expect, onTestFinished } from 'vitest';
import type { App } from '../../src/app.ts';
import { startOwnSandbox } from '../../src/cli/serve/sandbox-service.ts';
import type { PayDeps } from '../../src/pay/deps.ts';
import type { Payout } from '../../src/payout.ts';
import { paymentBody, quoteBody } from '../../src/service/bodies.ts';
import { parseQuotes } from '../../src/service/replies.ts';

const SEND_MS_MAX = 20_000;

/** The sandbox of the rig's data directory, as another process runs it. */
export async function runSandbox(app: App): Promise<PayDeps> {
  const own = await startOwnSandbox(app.config.dataDir, app);
  if (own === undefined) throw new Error('another process runs the sandbox');
  onTestFinished(() => own.sandbox.close());
  return await app.openPay(own.service);
}

/** Has the service pay a payout, without the ledger's learning of it; the quote that was paid. */
export async function paySecretly(pay: PayDeps, payout: Payout): Promise<string> {
  const quotes = await pay.service.quote(quoteBody(payout.row, pay.rules));
  const [quote] = (quotes.kind === 'answered' ? parseQuotes(quotes.json) : undefined) ?? [];
  const quoteId = quote?.quoteId ?? '';
  const paid = await pay.service.createPayment(paymentBody(payout.row, quoteId), {
    sendBefore: pay.clock.monotonic() + SEND_MS_MAX,
  });
  expect(paid).toMatchObject({ kind: 'answered', status: 201 });
  return quoteId;
}
