import { defineConfig, mergeConfig } from 'vitest/config';
import common from './vitest.config.ts';

/** The whole fault matrix; `--mode soak` runs the long rows alone. */
export default defineConfig(({ mode }) =>
  mergeConfig(common, {
    test: {
      include: ['test/faults/**/*.test.ts'],
      globalSetup: ['test/faults/table.ts'],
      env: { FAULTS_DEPTH: mode === 'soak' || mode === 'short' ? mode : 'long' },
    },
  }),
);
