import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';

const ROOT = resolve(import.meta.dirname, '..');
const PAGES = ['README.md', ...readdirSync(join(ROOT, 'docs')).map((name) => join('docs', name))].filter((name) =>
  name.endsWith('.md'),
);

function textOf(page: string): string {
  return readFileSync(join(ROOT, page), 'utf8');
}

/** The headings of a page as links name them. */
function anchorsOf(page: string): string[] {
  return [...textOf(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

describe.each(PAGES)('the links of %s', (page) => {
  const links = [...textOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
  const local = links.filter((link) => !/^[a-z]+:/.test(link));

  test('lead to files that there are', () => {
    const paths = local.map((link) => link.replace(/#.*/, '')).filter((path) => path !== '');
    expect(paths.filter((path) => !existsSync(join(ROOT, dirname(page), path)))).toEqual([]);
  });

  test('lead to headings that there are', () => {
    const dead = local.filter((link) => {
      const [path = '', heading] = link.split('#');
      const target = path === '' ? page : join(dirname(page), path);
      return heading !== undefined && target.endsWith('.md') && !anchorsOf(target).includes(heading);
    });
    expect(dead).toEqual([]);
  });
});

test('a comment refers to a page that the repository has', () => {
  const sources = ['src', 'jobs'].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
  );
  const lost = sources
    .filter((name) => /\.tsx?$/.test(name))
    .filter((name) => /\bdesign \d|\bdesign, section|\(design\b|\bsecurity\.md S\d|\bbad-input\b/.test(textOf(name)));
  expect(lost).toEqual([]);
});

test('the README is short: at most 900 words to the end of "Install"', () => {
  const [start = ''] = textOf('README.md').split(/^## Your own service$/m);
  expect(start).toContain('## Install');
  expect(start.split(/\s+/).length).toBeLessThanOrEqual(900);
});
