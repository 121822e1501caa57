import { Refusal, type Remedy } from '../refusal.ts';
import { TokenRefused, TokenUnavailable } from './token.ts';

/**
 * Asks the service for something and tells what is wrong with the credentials (a Refusal) or that the service cannot
 * be reached (one of the kind `unavailable`, with `remedy`). Any other fault is thrown as it is.
 */
export async function explainTokenFaults<T>(ask: () => Promise<T>, { remedy }: { remedy: Remedy }): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (error instanceof TokenRefused) {
      throw new Refusal(
        error.message,
        'Check PAYRUN_CLIENT_ID, PAYRUN_CLIENT_SECRET, PAYRUN_TENANT_ID and PAYRUN_ENVIRONMENT. Nothing was sent.',
        { cause: error },
      );
    }
    if (!(error instanceof TokenUnavailable)) throw error;
    throw new Refusal(`The payments service cannot be reached: ${error.message}`, remedy, {
      kind: 'unavailable',
      cause: error,
    });
  }
}
