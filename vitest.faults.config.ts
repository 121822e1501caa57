import { defineConfig, mergeConfig } from 'vitest/config';
import common from './vitest.config.ts';

/** The whole fault matrix; FAULTS_DEPTH=soak runs the long rows alone. */
export default mergeConfig(
  common,
  defineConfig({
    test: {
      include: ['test/faults/**/*.test.ts'],
      globalSetup: ['test/faults/table.ts'],
      env: { FAULTS_DEPTH: process.env['FAULTS_DEPTH'] ?? 'long' },
    },
  }),
);
