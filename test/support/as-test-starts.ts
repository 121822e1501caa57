/**
 * The words of a command as a test starts it: as root, as which tests may run, `serve`, `worker` and an inbox that pays
 * refuse to run, and where there is no ledger yet whoever comes first has to make it.
 */
export function asTestStarts(words: readonly string[]): readonly string[] {
  const [command = '', ...rest] = words;
  const mayBeFirst = ['serve', 'worker', 'inbox', 'submit'].includes(command);
  const isRefused = mayBeFirst && command !== 'submit' && (command !== 'inbox' || rest.includes('--with-worker'));
  return [
    command,
    ...(isRefused && process.getuid?.() === 0 ? ['--allow-root'] : []),
    ...(mayBeFirst ? ['--new-ledger'] : []),
    ...rest,
  ];
}
