import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.{ts,tsx}'],
    // `npm test` runs them afterwards, by their own configuration.
    exclude: ['test/faults/**', '**/node_modules/**'],
    globalSetup: ['test/faults/build.ts'],
    environment: 'node',
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 60_000,
    restoreMocks: true,
    allowOnly: false,
  },
});
