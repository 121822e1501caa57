import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemRandom } from '../../src/clock.ts';
import { openDataDir } from '../../src/ledger/intents/data-dir.ts';
import { requireReportFolder } from '../../src/runs/after/report.ts';

test('a data or report folder on a read-only disk is refused for that', async ({ skip }) => {
  if (process.getuid?.() !== 0) skip('needs root, to mount');
  const disk = mkdtempSync(join(tmpdir(), 'payrun-read-only-'));
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'ro', 'tmpfs', disk]);
  try {
    const opening = openDataDir(join(disk, 'payrun/data'), { random: systemRandom, requirePersistentDisk: false });
    await expect(opening).rejects.toThrow(/cannot be made \(EROFS: its disk is read-only\)/);
    await expect(requireReportFolder(join(disk, 'far/reports'))).rejects.toThrow(
      /cannot be written \(EROFS: its disk is read-only\)/,
    );
  } finally {
    execFileSync('umount', [disk]);
    rmSync(disk, { recursive: true });
  }
});

test('a data or report folder in one that takes no folders is refused at once', async () => {
  const opening = openDataDir('/proc/payrun/data', { random: systemRandom, requirePersistentDisk: false });
  await expect(opening).rejects.toThrow(/cannot be made \(ENOENT\)/);
  await expect(requireReportFolder('/proc/payrun')).rejects.toThrow(/cannot be written \(ENOENT\)/);
});
