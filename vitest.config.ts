import { resolve } from 'node:path';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.{ts,tsx}'],
    // By configurations of their own: `npm test` runs the first afterwards, `npm run test:hosts` the others, as root.
    exclude: ['test/faults/**', 'test/hosts/**', '**/node_modules/**'],
    globalSetup: ['test/faults/build.ts'],
    environment: 'node',
    // A process of its own runs what is compiled.
    alias: [
      { find: /^\.\/reader-program\.ts$/, replacement: resolve(import.meta.dirname, 'test/support/reader-program.ts') },
    ],
    pool: 'forks',
    // Of two cores: tests wait for processes, timers and disks more than they compute.
    maxWorkers: 3,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    // A condition that is waited for comes in its time, however busy the machine is.
    expect: { poll: { timeout: 30_000, interval: 20 } },
    restoreMocks: true,
    allowOnly: false,
  },
});
