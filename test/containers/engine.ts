/** Whether there is an engine to run containers in; says so on standard error when none is named. */
export function hasEngine(): boolean {
  if (process.env['DOCKER_HOST'] !== undefined) return true;
  process.stderr.write('No tests in containers: set DOCKER_HOST, or see .ci/engine.\n');
  return false;
}
