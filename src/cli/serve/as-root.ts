import { Refusal } from '../../refusal.ts';
import { say } from '../print.ts';

const OWN_USER = 'Start it as a user of its own that owns the data directory';

/**
 * Throws a Refusal (exit 2) when a process that serves, or pays unattended, would run as root without need (docs/security.md).
 * `uid` is undefined where the system has no such thing.
 */
export function refuseRoot({ allowRoot }: { readonly allowRoot: boolean }, uid = process.getuid?.()): void {
  if (uid !== 0 || allowRoot) return;
  throw new Refusal(
    'payrun would run as root, and it does not need the rights of root.',
    `${OWN_USER}; or add --allow-root, where root has no more rights than others, as in some containers.`,
  );
}

/** Says so where somebody pays a file as root, at their own terminal. */
export function warnOfRoot(uid = process.getuid?.()): void {
  if (uid === 0) say(`payrun runs as root, and needs none of its rights. ${OWN_USER}.`);
}
