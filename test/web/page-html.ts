import { parser } from 'sax';

interface Element {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
}

/** Elements of our pages; none of them runs or loads anything but the script, whose address is checked. */
const ELEMENTS = new Set(
  `html head meta title link script body a header p nav ul ol li main h1 h2 h3 h4 form input label select option button small
  section article table caption thead tbody tfoot tr th td span div time abbr b strong em code pre progress svg rect dl dt dd
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
  if (key === 'href' || key === 'action' || key === 'data-live') return OWN_ADDRESS.test(value);
  if (key === 'src') return element === 'script';
  if (key === 'http-equiv') return false;
  return !NO_ATTRIBUTE.test(key);
}
