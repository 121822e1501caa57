import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/faults/build.ts'],
    environment: 'node',
    pool: 'forks',
    maxWorkers: 2,
    // Rows of the fault matrix at a time in one file: each is several processes.
    maxConcurrency: 3,
    testTimeout: 20_000,
    hookTimeout: 60_000,
    restoreMocks: true,
    allowOnly: false,
  },
});
