#!/usr/bin/env node
import { explain } from './explain.ts';
import { say } from './print.ts';
import { openProgram } from './program.ts';

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // Whoever read our output has seen enough of it.
  if (error.code !== 'EPIPE') throw error;
});

process.stderr.on('error', () => {
  // What nobody hears keeps nobody from working.
});

try {
  await openProgram((code) => {
    process.exitCode = code;
  }).parseAsync();
} catch (error) {
  const { text, exitCode } = explain(error);
  if (text !== null) say(text);
  process.exitCode = exitCode;
}
// A connection that still waits for its Redis must not keep the process.
process.exit();
