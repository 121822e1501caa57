import type { Damage } from '../record.ts';

/** Damage met deep within a format; the format's reader ends with it, and nobody else sees it. */
export class DamageError extends Error {
  override readonly name = 'DamageError';
  readonly damage: Damage;

  constructor(damage: Damage, options: { cause?: unknown } = {}) {
    super(damage.code, options);
    this.damage = damage;
  }
}
