const HERE = 'http://here.invalid';

/**
 * The path of ours that a text names, as a browser reads it; the first page for everything else: another site is none of ours,
 * however it is spelled (OWASP, Unvalidated Redirects).
 */
export function ownPath(text: string): string {
  if (!text.startsWith('/') || !URL.canParse(text, HERE)) return '/';
  const { origin, pathname, search } = new URL(text, HERE);
  // `/.//other.example` comes to a path that begins like another site's address.
  return origin === HERE && !pathname.startsWith('//') ? `${pathname}${search}` : '/';
}
