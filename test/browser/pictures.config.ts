import { defineConfig } from 'vitest/config';
import { common } from '../../vitest.config.ts';

/** `npm run pictures`: makes docs/pictures anew. */
// biome-ignore lint/style/noDefaultExport: vitest asks for it.
export default defineConfig({
  test: { ...common, globalSetup: ['test/faults/build.ts'], include: ['test/browser/pictures.ts'] },
});
