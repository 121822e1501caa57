import { defineConfig } from 'vitest/config';

/** `npm run test:hosts` makes network namespaces, as root. */
function ownCommands(): string[] {
  return process.env['PAYRUN_TEST_HOSTS'] === undefined ? ['test/hosts/**'] : [];
}

export default defineConfig({
  test: {
    include: ['test/**/*.test.{ts,tsx}'],
    // `npm test` runs them afterwards, by their own configuration.
    exclude: ['test/faults/**', '**/node_modules/**', ...ownCommands()],
    globalSetup: ['test/faults/build.ts'],
    environment: 'node',
    pool: 'forks',
    maxWorkers: 2,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // A condition that is waited for comes in its time, however busy the machine is.
    expect: { poll: { timeout: 30_000, interval: 20 } },
    restoreMocks: true,
    allowOnly: false,
  },
});
