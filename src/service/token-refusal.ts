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
    throw refuseUnavailable(error, remedy);
  }
}

/** A certificate that does not verify has a remedy of its own, and another web server at the address is told as such. */
export function refuseUnavailable(error: TokenUnavailable, remedy: Remedy): Refusal {
  const isAnswered = /^HTTP (?!429)[1-4]/.test(error.reason);
  const what = isAnswered
    ? 'What answers at PAYRUN_SERVICE_URL is no payments service'
    : 'The payments service cannot be reached';
  const trust =
    'Trust its certificate (PAYRUN_CA_FILE names a file with it in PEM form), or correct PAYRUN_SERVICE_URL.';
  return new Refusal(`${what}: ${error.message}`, error.certificate ? trust : remedy, {
    kind: 'unavailable',
    cause: error,
  });
}
