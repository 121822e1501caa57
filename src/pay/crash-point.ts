/**
 * Places at which a test may end the process (those that lie in the network are the proxy's and
 * the sandbox's). The product passes a function that does nothing.
 */
export const CRASH_POINTS = ['C1', 'C2', 'C3', 'C4', 'C6', 'C10', 'C11', 'C12', 'C13', 'C16', 'C17'] as const;
export type CrashPoint = (typeof CRASH_POINTS)[number];

export type AtCrashPoint = (point: CrashPoint) => void;

export const noCrash: AtCrashPoint = () => {};
