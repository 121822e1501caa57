/** The words of a command as a test starts it: `serve`, `worker` and an inbox that pays refuse to run as root, as which tests may run. */
export function allowedAsRoot(words: readonly string[]): readonly string[] {
  const [command = '', ...rest] = words;
  const isRefused =
    process.getuid?.() === 0 &&
    (command === 'serve' || command === 'worker' || (command === 'inbox' && rest.includes('--with-worker')));
  return isRefused ? [command, '--allow-root', ...rest] : words;
}
