import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { TestProject } from 'vitest/node';
import { makeLook } from '../../.ci/look.mjs';

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder of the compiled source, which all tests of one vitest run share. */
    readonly built: string;
  }
}

const ROOT = resolve(import.meta.dirname, '../..');
let own: string | undefined;

/** Compiles payrun once for all test files; FAULTS_BUILT names a folder that was compiled before, such as a changed copy. */
export function setup({ provide }: TestProject): void {
  // What runs from its source serves it too.
  makeLook();
  const given = process.env['FAULTS_BUILT'];
  if (given !== undefined) return provide('built', resolve(given));
  // Inside the repository, so that `node_modules` is found.
  own = mkdtempSync(join(ROOT, '.tmp-e2e-built-'));
  const project = join(import.meta.dirname, 'tsconfig.json');
  execFileSync(join(ROOT, 'node_modules/.bin/tsc'), ['-p', project, '--outDir', own, '--noCheck'], {
    stdio: 'inherit',
  });
  cpSync(join(ROOT, 'src/cli/payrun'), join(own, 'src/cli/payrun'));
  cpSync(join(ROOT, 'src/web/static'), join(own, 'src/web/static'), { recursive: true });
  provide('built', own);
}

export function teardown(): void {
  if (own !== undefined) rmSync(own, { recursive: true, force: true });
}
