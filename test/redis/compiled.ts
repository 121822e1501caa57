import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../..');

/** Compiles src/redis into a folder, so that processes of their own can run it on any Node. */
export function compileRedis(dir: string): void {
  writeFileSync(join(dir, 'package.json'), '{"type":"module"}');
  writeFileSync(
    join(dir, 'tsconfig.json'),
    JSON.stringify({
      extends: join(ROOT, 'tsconfig.json'),
      compilerOptions: {
        rootDir: join(ROOT, 'src'),
        outDir: dir,
        noEmitOnError: false,
        typeRoots: [join(ROOT, 'node_modules/@types')],
      },
      include: [],
      files: [join(ROOT, 'src/redis/private-redis.ts'), join(ROOT, 'src/clock.ts')],
    }),
  );
  symlinkSync(join(ROOT, 'node_modules'), join(dir, 'node_modules'));
  execFileSync(join(ROOT, 'node_modules/.bin/tsc'), ['-p', dir], { stdio: 'inherit' });
}

export interface Script {
  readonly child: ChildProcess;
  /** The next line that the script prints. */
  line(): Promise<string>;
  /** Resolves with the exit code or signal. */
  readonly ended: Promise<number | NodeJS.Signals>;
}

/** Runs a script of a compiled folder; its standard error is ours. */
export function runScript(
  file: string,
  args: readonly string[],
  {
    through = [],
    ...options
  }: {
    readonly uid?: number;
    readonly gid?: number;
    readonly env?: NodeJS.ProcessEnv;
    /** Words before the command. */
    readonly through?: readonly string[];
  } = {},
): Script {
  const [program = '', ...words] = [...through, process.execPath, file, ...args];
  const child = spawn(program, words, { ...options, stdio: ['pipe', 'pipe', 'inherit'] });
  const lines: string[] = [];
  const waiting: ((line: string) => void)[] = [];
  let rest = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    const parts = (rest + text).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) {
      const next = waiting.shift();
      if (next === undefined) lines.push(part);
      else next(part);
    }
  });
  return {
    child,
    line: () =>
      new Promise((settle) => {
        const first = lines.shift();
        if (first === undefined) waiting.push(settle);
        else settle(first);
      }),
    ended: new Promise((settle, fail) => {
      child.once('error', fail);
      child.once('exit', (code, signal) => settle(signal ?? code ?? -1));
    }),
  };
}
