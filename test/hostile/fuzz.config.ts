import { defineConfig } from 'vitest/config';
import { common } from '../../vitest.config.ts';

/** `npm run test:fuzz`: makes up files until its time is over. */
// biome-ignore lint/style/noDefaultExport: vitest asks for it.
export default defineConfig({
  test: {
    ...common,
    globalSetup: ['test/faults/build.ts'],
    include: ['test/hostile/**/*.fuzz.ts'],
    testTimeout: 0,
  },
});
