import sax, { type QualifiedTag, type SAXParser, type Tag } from 'sax';

/** One start tag. */
export interface XmlElement {
  /** Its namespace. */
  readonly uri: string;
  /** Its name without a prefix. */
  readonly local: string;
  /** The value of the attribute of this name without a prefix, or of this namespace; undefined when it is not there. */
  attribute(local: string, uri?: string): string | undefined;
}

export interface XmlListener {
  open(element: XmlElement): void;
  /** A long text may come in several pieces. */
  text(text: string): void;
  close(): void;
}

export interface XmlReader {
  push(text: string): void;
  end(): void;
}

/** XML that is not well-formed, or has in it what is refused. The message is a piece of a sentence. */
export class XmlError extends Error {
  override readonly name = 'XmlError';
}

/** `strictEntities` knows no entities of HTML; the types do not know it. */
const SAX_OPTIONS = { xmlns: true, strictEntities: true };
const DEPTH_MAX = 64;
/** Characters of one start tag, all its attributes included. */
const TAG_CHARACTERS_MAX = 256 * 1024;

/**
 * Reads well-formed XML 1.0 with namespaces, in UTF-8. Refused by an XmlError: document type declarations and with them
 * all entities but the five of XML itself, another encoding, an attribute that stands twice, deep nesting, endless tags.
 */
export function openXmlReader(listener: XmlListener): XmlReader {
  const parser = sax.parser(true, SAX_OPTIONS);
  const attributeNames = new Set<string>();
  let depth = 0;
  let settledAt = 0;

  const refuse = (found: string): never => {
    throw new XmlError(`${found} (line ${parser.line + 1})`);
  };
  Object.assign(parser, {
    onerror: (error) => refuse(error.message.split('\n')[0] ?? 'it is not well-formed'),
    ondoctype: () => refuse('it has a document type declaration'),
    onsgmldeclaration: () => refuse('it has a declaration'),
    onprocessinginstruction({ name, body }) {
      if (name === 'xml' && !isUtf8Declaration(body)) refuse('it does not say that it is XML 1.0 in UTF-8');
    },
    onopentagstart: () => attributeNames.clear(),
    onattribute({ name }) {
      if (attributeNames.has(name)) refuse('an attribute stands twice in a tag');
      attributeNames.add(name);
    },
    onopentag(tag) {
      settledAt = parser.position;
      depth++;
      if (depth > DEPTH_MAX) refuse(`elements are nested more than ${DEPTH_MAX} deep`);
      if (isQualified(tag)) listener.open(elementOf(tag));
    },
    ontext: (text) => listener.text(text),
    oncdata: (text) => listener.text(text),
    onclosetag() {
      settledAt = parser.position;
      depth--;
      listener.close();
    },
  } satisfies Partial<SAXParser>);

  return {
    push(text) {
      parser.write(text);
      const isInTag = parser.startTagPosition > settledAt;
      if (isInTag && parser.position - parser.startTagPosition > TAG_CHARACTERS_MAX) refuse('it has an endless tag');
    },
    end: () => void parser.close(),
  };
}

function isUtf8Declaration(body: string): boolean {
  const encoding = /\bencoding\s*=\s*["']([^"']*)["']/.exec(body)?.[1] ?? 'utf-8';
  return /\bversion\s*=\s*["']1\.0["']/.test(body) && /^(?:utf-8|us-ascii)$/i.test(encoding);
}

function isQualified(tag: Tag | QualifiedTag): tag is QualifiedTag {
  return 'uri' in tag;
}

function elementOf({ uri, local, attributes }: QualifiedTag): XmlElement {
  return {
    uri,
    local,
    attribute(name, namespace) {
      if (namespace === undefined) return Object.hasOwn(attributes, name) ? attributes[name]?.value : undefined;
      return Object.values(attributes).find((one) => one.local === name && one.uri === namespace)?.value;
    },
  };
}
