const BROWSERS: readonly (readonly [mark: RegExp, name: string])[] = [
  [/\bEdgA?\//, 'Edge'],
  [/\bOPR\//, 'Opera'],
  [/\b(?:Firefox|FxiOS)\//, 'Firefox'],
  [/\b(?:Chrome|CriOS)\//, 'Chrome'],
  [/\bSafari\//, 'Safari'],
];
const SYSTEMS: readonly (readonly [mark: RegExp, name: string])[] = [
  [/\bAndroid\b/, 'Android'],
  [/\b(?:iPhone|iPad)\b/, 'iOS'],
  [/\bWindows\b/, 'Windows'],
  [/\bMac OS X\b/, 'macOS'],
  [/\bLinux\b/, 'Linux'],
];
const OTHER = 'another browser';
/** What comes after is of no use here. */
const CHARACTERS_MAX = 500;

/** A browser as its user knows it, such as `Firefox on Linux`, by what it says of itself in `User-Agent`. */
export function browserOf(userAgent: string | undefined): string {
  const text = (userAgent ?? '').slice(0, CHARACTERS_MAX);
  const [browser, system] = [BROWSERS, SYSTEMS].map((marks) => marks.find(([mark]) => mark.test(text))?.[1]);
  return system === undefined ? (browser ?? OTHER) : `${browser ?? OTHER} on ${system}`;
}
