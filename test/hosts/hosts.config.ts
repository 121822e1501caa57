import { defineConfig } from 'vitest/config';
import { common } from '../../vitest.config.ts';
import { filesOf } from '../suites.ts';

/** `npm run test:hosts`: several hosts on one machine. */
// biome-ignore lint/style/noDefaultExport: vitest asks for it.
export default defineConfig({
  test: { ...common, globalSetup: ['test/faults/build.ts'], include: filesOf('hosts'), maxWorkers: 1 },
});
