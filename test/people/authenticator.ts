import { Secret, TOTP } from 'otpauth';

/** What an authenticator app with this secret shows at a time (milliseconds since 1970). */
export function codeAt(secret: string, timestamp: number): string {
  return new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp });
}

/** Six digits that the app does not show around this time. */
export function wrongCodeAt(secret: string, now: number): string {
  const shown = [-1, 0, 1].map((periods) => codeAt(secret, now + periods * 30_000));
  return ['000000', '111111', '222222', '333333'].find((code) => !shown.includes(code)) ?? '';
}
