/** Why a row that mounts, or moves to another network, cannot run here; undefined when it can. */
export function missingRoot(): string | undefined {
  return process.getuid?.() === 0 ? undefined : 'needs root';
}
