export const DEPTHS = ['short', 'long', 'soak'] as const;
/** How much of the matrix is run: by `npm run test:faults:short`, by `npm run test:faults`, by `npm run test:soak`. */
export type Depth = (typeof DEPTHS)[number];

export const DEPTH: Depth = DEPTHS.find((depth) => depth === process.env['FAULTS_DEPTH']) ?? 'short';
