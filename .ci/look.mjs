// The look of the pages, from libraries for development: stylesheet, icons and font, as files that our own server sends.
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';

const ROOT = join(import.meta.dirname, '..');
const LIBRARIES = join(ROOT, 'node_modules');
/** Not under version control; it is copied with the rest of the static files. */
const LOOK = join(ROOT, 'src/web/static/look');
const STYLES = '@tabler/core/dist/css/tabler.min.css';
const FONT = '@fontsource-variable/inter/files/inter-latin-wght-normal.woff2';
/** A grey that is seen on light and on dark. */
const MARK_COLOUR = '#8792a3';

/** Makes src/web/static/look, and leaves what is there already. Does nothing where the libraries are left out. */
export function makeLook() {
  if (!existsSync(join(LIBRARIES, STYLES))) return;
  mkdirSync(LOOK, { recursive: true });
  keep('tabler.css', styles(readFileSync(join(LIBRARIES, STYLES), 'utf8')));
  keep('inter.woff2', readFileSync(join(LIBRARIES, FONT)));
  keep('icons.svg', sprite(iconNames()));
  keep('chevron.svg', picture('chevron-down', MARK_COLOUR));
}

/** With text packed beside it, for browsers that take it so. */
function keep(name, content) {
  const path = join(LOOK, name);
  const isThere = existsSync(path) && readFileSync(path).equals(Buffer.from(content));
  if (!isThere) write(path, content);
  if (name.endsWith('.woff2')) return;
  for (const [ending, pack] of PACKED) {
    if (!isThere || !existsSync(path + ending)) write(path + ending, pack(content));
  }
}

const PACKED = [
  ['.br', brotliCompressSync],
  ['.gz', gzipSync],
];

/** Written aside first: tests of several processes may begin at once. */
function write(path, content) {
  const aside = `${path}.${process.pid}`;
  writeFileSync(aside, content);
  renameSync(aside, path);
}

/**
 * The library's stylesheet for our policy and without a script: dark where the browser asks for it in place of an attribute
 * of the page, and no `data:` images.
 */
function styles(css) {
  return css
    .replaceAll(/([^{}]+)\{([^{}]*)\}/g, (rule, selectors, body) => {
      const dark = selectors.split(',').find((selector) => /^(?::root)?\.theme-dark(?: |$)/.test(selector.trim()));
      if (dark === undefined) return rule;
      const own = dark.replace(/(?::root)?\.theme-dark/, ':root');
      return `@media screen and (prefers-color-scheme:dark){${own}{${body}}}`;
    })
    .replaceAll(/url\("data:[^"]*"\)/g, 'none')
    .replace(/\/\*# sourceMappingURL=.*?\*\//, '');
}

/** The names in the list of src/web/parts/icon.tsx. */
function iconNames() {
  const source = readFileSync(join(ROOT, 'src/web/parts/icon.tsx'), 'utf8');
  const [, list = ''] = /const ICONS = \[([^\]]*)\]/.exec(source) ?? [];
  return [...list.matchAll(/'([a-z-]+)'/g)].map(([, name]) => name);
}

function sprite(names) {
  const symbols = names.map((name) => `<symbol id="${name}" viewBox="0 0 24 24">${drawing(name)}</symbol>`);
  return `<svg xmlns="http://www.w3.org/2000/svg">${symbols.join('')}</svg>\n`;
}

function picture(name, colour) {
  const stroke = `fill="none" stroke="${colour}" stroke-width="2" stroke-linecap="round" stroke-linejoin="round"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" width="24" height="24" viewBox="0 0 24 24" ${stroke}>${drawing(name)}</svg>\n`;
}

/** What stands inside the icon's own `svg`. */
function drawing(name) {
  const svg = readFileSync(join(LIBRARIES, `@tabler/icons/icons/outline/${name}.svg`), 'utf8');
  return svg
    .replace(/^[\s\S]*?<svg[^>]*>/, '')
    .replace(/<\/svg>\s*$/, '')
    .replaceAll(/\s*\n\s*/g, '');
}
