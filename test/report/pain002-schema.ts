import sax, { type QualifiedTag } from 'sax';
import { currencies } from '../../src/money.ts';

/** An element of a message as it was read. */
export interface Element {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: Element[];
  text: string;
}

/** What the published schema says of an element: how often it stands, and what is in it. */
interface Rule {
  readonly name: string;
  readonly min: 0 | 1;
  readonly max: number;
  readonly content: RegExp | readonly Rule[];
  /** Exactly one of the children, instead of all of them in their order. */
  readonly isChoice?: boolean;
  readonly attributes?: Readonly<Record<string, RegExp>>;
}

const one = (name: string, content: Rule['content'], more: Partial<Rule> = {}): Rule => ({
  name,
  min: 1,
  max: 1,
  content,
  ...more,
});
const maybe = (name: string, content: Rule['content'], more: Partial<Rule> = {}): Rule =>
  one(name, content, { min: 0, ...more });
const many = (name: string, content: Rule['content']): Rule => maybe(name, content, { max: Infinity });

const MAX_35 = /^[^]{1,35}$/u;
const MAX_105 = /^[^]{1,105}$/u;
const MAX_15_NUMERIC = /^[0-9]{1,15}$/;
const CODE_4 = /^[^]{1,4}$/u;
const DECIMAL = /^(?=[0-9.]{1,19}$)[0-9]{1,18}(?:\.[0-9]{1,17})?$/;
const AMOUNT = /^(?=[0-9.]{1,19}$)[0-9]{1,18}(?:\.[0-9]{1,5})?$/;
const DATE_TIME = /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?Z$/;
const UUID_V4 = /^[a-f0-9]{8}-[a-f0-9]{4}-4[a-f0-9]{3}-[89ab][a-f0-9]{3}-[a-f0-9]{12}$/;
const CURRENCY = new RegExp(`^(?:${currencies().join('|')})$`);
/** Elements that payrun has no use for; were one written, the test would not know what is in it. */
const UNUSED = /(?!)/;

const reason = many('StsRsnInf', [
  maybe('Orgtr', UNUSED),
  maybe('Rsn', [one('Cd', CODE_4), one('Prtry', MAX_35)], { isChoice: true }),
  many('AddtlInf', MAX_105),
]);
const perStatus = many('NbOfTxsPerSts', [
  one('DtldNbOfTxs', MAX_15_NUMERIC),
  one('DtldSts', CODE_4),
  maybe('DtldCtrlSum', DECIMAL),
]);
const transactionReference = maybe('OrgnlTxRef', [
  maybe('IntrBkSttlmAmt', UNUSED),
  maybe('Amt', [one('InstdAmt', AMOUNT, { attributes: { Ccy: CURRENCY } }), one('EqvtAmt', UNUSED)], {
    isChoice: true,
  }),
  maybe('IntrBkSttlmDt', UNUSED),
  maybe('ReqdColltnDt', UNUSED),
  maybe('ReqdExctnDt', UNUSED),
]);
const transaction = many('TxInfAndSts', [
  maybe('StsId', MAX_35),
  maybe('OrgnlInstrId', MAX_35),
  maybe('OrgnlEndToEndId', MAX_35),
  maybe('OrgnlUETR', UUID_V4),
  maybe('TxSts', CODE_4),
  reason,
  many('ChrgsInf', UNUSED),
  maybe('AccptncDtTm', DATE_TIME),
  maybe('AcctSvcrRef', MAX_35),
  maybe('ClrSysRef', MAX_35),
  transactionReference,
  many('SplmtryData', UNUSED),
]);

/** pain.002.001.10 (CustomerPaymentStatusReportV10), in the order of its schema. */
const DOCUMENT = one('Document', [
  one('CstmrPmtStsRpt', [
    one('GrpHdr', [
      one('MsgId', MAX_35),
      one('CreDtTm', DATE_TIME),
      ...['InitgPty', 'FwdgAgt', 'DbtrAgt', 'CdtrAgt'].map((name) => maybe(name, UNUSED)),
    ]),
    one('OrgnlGrpInfAndSts', [
      one('OrgnlMsgId', MAX_35),
      one('OrgnlMsgNmId', MAX_35),
      maybe('OrgnlCreDtTm', DATE_TIME),
      maybe('OrgnlNbOfTxs', MAX_15_NUMERIC),
      maybe('OrgnlCtrlSum', DECIMAL),
      maybe('GrpSts', CODE_4),
      reason,
      perStatus,
    ]),
    many('OrgnlPmtInfAndSts', [
      one('OrgnlPmtInfId', MAX_35),
      maybe('OrgnlNbOfTxs', MAX_15_NUMERIC),
      maybe('OrgnlCtrlSum', DECIMAL),
      maybe('PmtInfSts', CODE_4),
      reason,
      perStatus,
      transaction,
    ]),
    many('SplmtryData', UNUSED),
  ]),
]);

const ISO = 'urn:iso:std:iso:20022:tech:xsd:';

/** The elements of an XML text; throws for one that is not well-formed or has an element of another namespace. */
export function parseXml(xml: string, version = 'pain.002.001.10'): Element {
  const root: Element = { name: '', attributes: {}, children: [], text: '' };
  const open = [root];
  const parser = sax.parser(true, { xmlns: true });
  Object.assign(parser, {
    onerror(error: Error) {
      throw error;
    },
    onopentag({ local, uri, attributes }: QualifiedTag) {
      if (uri !== `${ISO}${version}`) throw new Error(`${local} is of another namespace`);
      const own = Object.values(attributes).filter(({ name }) => name !== 'xmlns');
      const element: Element = {
        name: local,
        attributes: Object.fromEntries(own.map(({ name, value }) => [name, value])),
        children: [],
        text: '',
      };
      open.at(-1)?.children.push(element);
      open.push(element);
    },
    ontext(text: string) {
      const element = open.at(-1);
      if (element !== undefined) element.text += text;
    },
    onclosetag: () => void open.pop(),
  });
  parser.write(xml).close();
  const [document] = root.children;
  if (document === undefined) throw new Error('there is no element');
  return document;
}

/** All that the published schema has against a message. */
export function schemaFaults(document: Element): string[] {
  return document.name === DOCUMENT.name ? faultsIn(document, DOCUMENT) : [`the root is ${document.name}`];
}

function faultsIn(element: Element, { name, content, isChoice, attributes = {} }: Rule): string[] {
  const names = Object.keys(element.attributes).join();
  if (names !== Object.keys(attributes).join()) return [`${name} has the attributes ${names}`];
  const wrong = Object.entries(attributes).filter(([key, rule]) => !rule.test(element.attributes[key] ?? ''));
  if (wrong.length > 0) return [`${name} has a bad attribute`];
  if (content instanceof RegExp) {
    return element.children.length === 0 && content.test(element.text) ? [] : [`${name}: "${element.text}"`];
  }
  if (element.text.trim() !== '') return [`${name} has text between its elements`];
  if (isChoice === true) {
    const [only, ...others] = element.children;
    const rule = content.find((candidate) => candidate.name === only?.name);
    return only === undefined || rule === undefined || others.length > 0
      ? [`${name} has no one choice`]
      : faultsIn(only, rule);
  }
  return sequenceFaults(element, content);
}

function sequenceFaults({ name, children }: Element, rules: readonly Rule[]): string[] {
  const faults: string[] = [];
  let next = 0;
  for (const rule of rules) {
    const from = next;
    for (let child = children[next]; child?.name === rule.name; child = children[++next])
      faults.push(...faultsIn(child, rule));
    const count = next - from;
    if (count < rule.min || count > rule.max) faults.push(`${name} has ${count} ${rule.name} where they belong`);
  }
  if (next < children.length) faults.push(`${name} has ${children[next]?.name ?? ''} where it does not belong`);
  return faults;
}

/** The elements at a path below this one, whatever their number at each step. */
export function elementsAt(element: Element, path: string): Element[] {
  return path
    .split('/')
    .reduce(
      (found, name) => found.flatMap(({ children }) => children.filter((child) => child.name === name)),
      [element],
    );
}

/** The text of each element at a path. */
export function textsAt(element: Element, path: string): string[] {
  return elementsAt(element, path).map(({ text }) => text);
}
