#!/usr/bin/env node
import { CommanderError } from 'commander';
import { EXIT, Refusal } from '../refusal.ts';
import { openProgram } from './program.ts';

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // Whoever read our output has seen enough of it.
  if (error.code !== 'EPIPE') throw error;
});

try {
  await openProgram((code) => {
    process.exitCode = code;
  }).parseAsync();
} catch (error) {
  process.exitCode = explain(error);
}

function explain(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  if (error instanceof Refusal) {
    process.stderr.write(`${error.message}\n${error.remedy}\n`);
    return error.exitCode;
  }
  const trace = error instanceof Error ? (error.stack ?? error.message) : String(error);
  process.stderr.write(`This is a defect of payrun, not of your file. Please report it with these lines:\n${trace}\n`);
  return EXIT.defect;
}
