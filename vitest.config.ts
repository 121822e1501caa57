import { resolve } from 'node:path';
import { defineConfig } from 'vitest/config';
import { filesOf } from './test/suites.ts';
import { WaitingFirst } from './test/waiting-first.ts';

/** What all suites have in common. */
export const common = {
  environment: 'node',
  // A process of its own runs what is compiled.
  alias: [
    { find: /^\.\/reader-program\.ts$/, replacement: resolve(import.meta.dirname, 'test/support/reader-program.ts') },
  ],
  pool: 'forks',
  setupFiles: 'test/support/seeded-properties.ts',
  // A limit to a wait is no assertion: what is waited for comes in its time, however busy the machine is.
  testTimeout: 120_000,
  hookTimeout: 120_000,
  expect: { poll: { timeout: 60_000, interval: 20 } },
  restoreMocks: true,
  allowOnly: false,
} as const;

export default defineConfig({
  test: {
    globalSetup: ['test/faults/build.ts'],
    // Of two cores: tests wait for processes, timers and disks more than they compute.
    maxWorkers: 4,
    sequence: { sequencer: WaitingFirst },
    projects: [
      // Files share a process, and the source that it has loaded: each would take a second to load it again.
      { test: { ...common, name: 'quick', include: filesOf('quick'), isolate: false, unstubEnvs: true } },
      { test: { ...common, name: 'system', include: filesOf('system'), maxWorkers: 8, sequence: { groupOrder: 1 } } },
      // With one worker vitest runs these files one by one, after all others.
      { test: { ...common, name: 'isolated', include: filesOf('isolated'), maxWorkers: 1 } },
      { test: { ...common, name: 'containers', include: filesOf('containers') } },
    ],
  },
});
