import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { useProcesses } from '../support/payrun-processes.ts';

const PIPE_BYTES_MAX = 65_536;

const processes = useProcesses();

test('whoever reads slowly gets the whole output', { timeout: 180_000 }, async () => {
  const cwd = processes.folder();
  const lines = Array.from({ length: 1000 }, (_, index) => `R-${index},nobody,1.00,EUR,USD`);
  const header = 'reference,beneficiaryIdentityId,amount,sourceCurrency,destinationCurrency';
  writeFileSync(join(cwd, 'wrong.csv'), [header, ...lines, ''].join('\n'));
  const main = join(processes.built, 'src/cli/main.js');
  const slowly = `"${process.execPath}" "${main}" validate wrong.csv --json | (sleep 2; cat)`;
  const { stdout } = await promisify(execFile)('sh', ['-c', slowly], { cwd, maxBuffer: 16 * PIPE_BYTES_MAX });
  expect(stdout.length).toBeGreaterThan(PIPE_BYTES_MAX);
  expect(JSON.parse(stdout)).toMatchObject({ problemsTotal: 1000 });
});
