import type { EnvironmentVariables } from './config.ts';

/** What the environment says of the terminal. It loads nothing: each command asks. */
export function terminalVariables(environment: EnvironmentVariables = process.env): EnvironmentVariables {
  const { TERM, NO_COLOR, LC_ALL, LC_CTYPE, LANG } = environment;
  return { TERM, NO_COLOR, LC_ALL, LC_CTYPE, LANG };
}

/** What a shell says of the command line that it completes. */
export function completionVariables(environment: EnvironmentVariables = process.env): EnvironmentVariables {
  const { COMP_CWORD, COMP_LINE, COMP_POINT, SHELL } = environment;
  return { COMP_CWORD, COMP_LINE, COMP_POINT, SHELL };
}
