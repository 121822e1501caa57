import type { ExitCode } from './exit-code.ts';
import { say } from './print.ts';
import { exitCodeOfUsage, openProgram, wantedCommand } from './program.ts';
import { keepMemoryFlat } from './run/memory.ts';

keepMemoryFlat();

process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  // Whoever read our output has seen enough of it.
  if (error.code !== 'EPIPE') throw error;
});

process.stderr.on('error', () => {
  // What nobody hears keeps nobody from working.
});

function end(code: ExitCode): void {
  process.exitCode = code;
}

async function tell(error: unknown): Promise<ExitCode> {
  const { explain } = await import('./explain.ts');
  const { text, exitCode } = explain(error);
  say(text);
  return exitCode;
}

async function isWritten(stream: NodeJS.WriteStream): Promise<void> {
  if (stream.writable && stream.writableLength > 0)
    await new Promise<void>((resolve) => stream.write('', () => resolve()));
}

try {
  const program = await openProgram({ end }, wantedCommand(process.argv.slice(2)));
  await program.parseAsync();
} catch (error) {
  process.exitCode = exitCodeOfUsage(error) ?? (await tell(error));
}
// What is written to a pipe leaves as fast as its reader takes it.
await Promise.all([process.stdout, process.stderr].map(isWritten));
// A connection that still waits for its Redis must not keep the process.
process.exit();
