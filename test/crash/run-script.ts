import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Runs a shell script with programs of ours first on its PATH; gives all that it printed. */
export async function runScript(
  script: string,
  { cwd, path }: { cwd: string; path: string },
): Promise<{ code: number | null; output: string }> {
  const { PATH = '', HOME = '' } = process.env;
  const child = spawn('bash', ['-c', script], { cwd, env: { PATH: `${path}:${PATH}`, HOME } });
  let output = '';
  const take = (text: string): void => {
    output += text;
  };
  child.stdout.setEncoding('utf8').on('data', take);
  child.stderr.setEncoding('utf8').on('data', take);
  await once(child, 'close');
  return { code: child.exitCode, output };
}
