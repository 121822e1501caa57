import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test, vi } from 'vitest';
import { EXIT } from '../../src/cli/exit-code.ts';
import { refuseRoot, warnOfRoot } from '../../src/cli/serve/as-root.ts';
import { Refusal } from '../../src/refusal.ts';
import { buildProcesses } from '../support/payrun-processes.ts';

const [ROOT_UID, OTHER_UID] = [0, 1000];

test('root is refused as a matter of use, and nobody else', () => {
  const refusal = thrownBy(() => refuseRoot({ allowRoot: false }, ROOT_UID));
  expect(refusal).toBeInstanceOf(Refusal);
  expect(refusal).toMatchObject({ kind: 'usage', remedy: expect.stringContaining('--allow-root') });
  expect(thrownBy(() => refuseRoot({ allowRoot: true }, ROOT_UID))).toBeUndefined();
  expect(thrownBy(() => refuseRoot({ allowRoot: false }, OTHER_UID))).toBeUndefined();
});

test('root is told at a run, and nobody else', () => {
  const said = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  warnOfRoot(OTHER_UID);
  expect(said).not.toHaveBeenCalled();
  warnOfRoot(ROOT_UID);
  expect(said).toHaveBeenCalledWith(expect.stringContaining('runs as root'));
  said.mockRestore();
});

test.runIf(process.getuid?.() === ROOT_UID).each([['serve'], ['worker'], ['inbox', 'box', '--with-worker']])(
  'payrun %s does not start as root, and says what to do',
  async (...words) => {
    const processes = buildProcesses();
    try {
      // Not as other tests start it, which allows it.
      const main = join(processes.built, 'src/cli/main.js');
      const ended = spawnSync(process.execPath, [main, ...words, '--sandbox'], { cwd: processes.folder() });
      expect(ended.status).toBe(EXIT.usage);
      expect(ended.stderr.toString()).toContain('--allow-root');
    } finally {
      await processes.remove();
    }
  },
);

function thrownBy(act: () => void): unknown {
  try {
    act();
    return undefined;
  } catch (error) {
    return error;
  }
}
