import { defineConfig } from 'vitest/config';
import common from './vitest.config.ts';

/** Several hosts on one machine. */
export default defineConfig({
  test: { ...common.test, include: ['test/hosts/**/*.test.ts'], exclude: [], maxWorkers: 1 },
});
