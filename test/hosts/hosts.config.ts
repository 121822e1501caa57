import { defineConfig } from 'vitest/config';
import common from '../../vitest.config.ts';

/** `npm run test:hosts`: several hosts on one machine. */
// biome-ignore lint/style/noDefaultExport: vitest asks for it.
export default defineConfig({
  test: { ...common.test, include: ['test/hosts/**/*.test.ts'], exclude: [], maxWorkers: 1 },
});
