import { type FundsNeeded, moneyOfDecimal } from '../../money.ts';
import type { Service } from '../../service/client.ts';
import { parseBalance } from '../../service/replies.ts';

/** What is needed in each currency, with what the service says can be paid from. Throws TokenRefused or TokenUnavailable. */
export async function withBalances(
  service: Pick<Service, 'readBalance'>,
  funds: readonly FundsNeeded[],
): Promise<FundsNeeded[]> {
  return await Promise.all(funds.map(async (need) => ({ ...need, balance: await balanceIn(service, need.currency) })));
}

async function balanceIn(service: Pick<Service, 'readBalance'>, currency: string): Promise<bigint | null> {
  const answer = await service.readBalance(currency);
  if (answer.kind !== 'answered' || answer.status !== 200) return null;
  const told = parseBalance(answer.json, currency);
  return (told === undefined ? undefined : moneyOfDecimal(told, currency)?.minor) ?? null;
}
