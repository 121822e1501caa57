import { parser } from 'sax';

interface Element {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
}

/** Elements of our pages; none of them runs or loads anything but the script, whose address is checked. */
const ELEMENTS = new Set(
  `html head meta title link script body a header search p nav ul ol li main h1 h2 h3 h4 form input label select option button small
  section article table caption thead tbody tfoot tr th td span div time abbr b strong em code pre progress svg g use text rect path dl dt dd
  fieldset legend textarea details summary br hr details figure figcaption output`.split(/\s+/),
);
const NO_ATTRIBUTE = /^(on|style$|src$|srcdoc$|srcset$|background$|formaction$|action$|href$|xlink|xmlns|ping$|data$)/;
/** Of ours, or of this page; no scheme of any kind. */
const OWN_ADDRESS = /^(\/(?![/\\])|#|\?|$)/;
const ATTRIBUTE_NAME = /^[a-z][a-z-]*$/i;

/** The elements of a page, as a lenient parser reads them. */
function elementsOf(html: string): Element[] {
  const found: Element[] = [];
  const reader = parser(false, { lowercase: true });
  reader.onopentag = ({ name, attributes }) => {
    const texts = Object.entries(attributes).map(([key, value]) => [key, String(value)] as const);
    found.push({ name, attributes: Object.fromEntries(texts) });
  };
  reader.write(html).close();
  return found;
}

/** Where the links of a page lead, each as an address of this site. */
export function linksOf(html: string, page: string): string[] {
  return elementsOf(html)
    .filter(({ name, attributes }) => name === 'a' && 'href' in attributes)
    .map(({ attributes }) => {
      const { pathname, search } = new URL(attributes['href'] ?? '', new URL(page, 'http://page'));
      return pathname + search;
    });
}

/** A field of a form that changes something, as a browser would fill it in. */
export interface FormField {
  readonly name: string;
  /** `text`, `password`, `hidden`, …; `select` and `textarea`. */
  readonly type: string;
  /** What it would send; '' for a box or a button of several that is not chosen. */
  readonly value: string;
  readonly attributes: Readonly<Record<string, string>>;
}

export interface PageForm {
  readonly action: string;
  readonly fields: readonly FormField[];
}

/** The forms of a page that change something, with what stands in their fields. */
export function formsOf(html: string): PageForm[] {
  const forms: { action: string; fields: { -readonly [Key in keyof FormField]: FormField[Key] }[] }[] = [];
  const chosen = new Set<object>();
  let isForm = false;
  let isLong = false;
  const reader = parser(false, { lowercase: true });
  reader.onopentag = ({ name, attributes: found }) => {
    const attributes = Object.fromEntries(Object.entries(found).map(([key, value]) => [key, String(value)]));
    if (name === 'form') {
      isForm = attributes['method'] === 'post';
      if (isForm) forms.push({ action: attributes['action'] ?? '', fields: [] });
    }
    if (!isForm) return;
    const fields = forms.at(-1)?.fields ?? [];
    const { name: field = '', type = 'text', value: text = '' } = attributes;
    // An attribute without a value is told with its name.
    const value = text === 'value' ? '' : text;
    const isChoice = type === 'radio' || type === 'checkbox';
    if (name === 'input') {
      fields.push({ name: field, type, value: isChoice && !('checked' in attributes) ? '' : value, attributes });
    }
    if (name === 'select' || name === 'textarea') fields.push({ name: field, type: name, value: '', attributes });
    const last = fields.at(-1);
    if (name === 'option' && last !== undefined) {
      // Without a choice the first one counts.
      if ('selected' in attributes || !chosen.has(last)) last.value = value;
      chosen.add(last);
    }
    isLong = name === 'textarea';
  };
  Object.assign(reader, {
    ontext(text: string) {
      const last = forms.at(-1)?.fields.at(-1);
      if (isForm && isLong && last !== undefined) last.value = text;
    },
    onclosetag(name: string) {
      if (name === 'form') isForm = false;
      isLong = false;
    },
  });
  reader.write(html).close();
  return forms;
}

/** The words of the element with an id; undefined for none. */
export function wordsOf(html: string, id: string): string | undefined {
  const words: string[] = [];
  const depth: boolean[] = [];
  const reader = parser(false, { lowercase: true });
  reader.onopentag = ({ attributes }) => depth.push(attributes['id'] === id || depth.at(-1) === true);
  Object.assign(reader, {
    ontext: (text: string) => depth.at(-1) === true && words.push(text),
    onclosetag: () => depth.pop(),
  });
  reader.write(html).close();
  return words.length === 0 ? undefined : words.join('').trim();
}

/** What of a page is not ours: elements and attributes that payrun never writes, addresses that lead elsewhere. */
export function foreignParts(html: string): string[] {
  return elementsOf(html).flatMap(({ name, attributes }) => [
    ...(ELEMENTS.has(name) ? [] : [`<${name}>`]),
    ...(name === 'script' && attributes['src'] !== '/static/payrun.js' ? ['<script>'] : []),
    ...Object.entries(attributes)
      .filter(([key, value]) => !isOwn(name, key, value))
      .map(([key, value]) => `<${name} ${key}=${value}>`),
  ]);
}

function isOwn(element: string, key: string, value: string): boolean {
  if (!ATTRIBUTE_NAME.test(key)) return false;
  if (key === 'href' || key === 'action' || key === 'data-live' || key === 'data-again') return OWN_ADDRESS.test(value);
  if (key === 'src') return element === 'script';
  if (key === 'http-equiv') return false;
  return !NO_ATTRIBUTE.test(key);
}
