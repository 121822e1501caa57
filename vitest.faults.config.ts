import { defineConfig } from 'vitest/config';
import { filesOf } from './test/suites.ts';
import { common } from './vitest.config.ts';

/** The whole fault matrix; `--mode soak` runs the long rows alone. */
export default defineConfig(({ mode }) => ({
  test: {
    ...common,
    include: filesOf('faults'),
    // Rows at a time, each of several processes. More of them keep two cores so busy that rows come to their end too late.
    maxWorkers: mode === 'short' ? 1 : 2,
    maxConcurrency: mode === 'short' ? 3 : 2,
    globalSetup: ['test/faults/build.ts', 'test/faults/table.ts'],
    env: { FAULTS_DEPTH: mode === 'soak' || mode === 'short' ? mode : 'long' },
  },
}));
