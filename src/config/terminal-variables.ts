/** What the environment says of the terminal; read at each call, and without what settings need. */
export function terminalVariables(
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Readonly<Record<string, string | undefined>> {
  const { TERM, NO_COLOR, LC_ALL, LC_CTYPE, LANG } = environment;
  return { TERM, NO_COLOR, LC_ALL, LC_CTYPE, LANG };
}
