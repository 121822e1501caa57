import { escapeUnseen, showValue } from '../problems/shown-value.ts';
import { type XmlElement, XmlError, type XmlListener } from '../xml.ts';
import type { Content } from './content.ts';
import { AMOUNT_CURRENCY, leaveOutName, PAYMENT, READ, TRANSFER, type Treatment, treatmentOf } from './elements.ts';
import { type MessageVersion, messageNameIn, VERSION_NAMES, versionNamed, versionOf } from './versions.ts';

const ROOT = ['Document', 'CstmrCdtTrfInitn'];
const TEXT_CHARACTERS_MAX = 1024;
/** As many as a problem shows. */
const NAMESPACE_CHARACTERS_MAX = 80;

/** What walks through a message, and the version that it was found to be of. */
interface Message {
  readonly listener: XmlListener;
  readonly versionName: () => string | undefined;
}

/**
 * Walks through a message and tells what it says; `leftOut` are the elements that the template does without. Throws an
 * XmlError for what is no pain.001 of a version that is read.
 */
export function openMessage(content: Content, leftOut: ReadonlySet<string>): Message {
  const names: string[] = [];
  const treatments: Treatment[] = [];
  let version: MessageVersion | undefined;
  let text = '';

  function openElement(element: XmlElement): Treatment {
    const root = ROOT[names.length - 1];
    version ??= requireVersion(element);
    if (versionOf(element.uri) !== version || (root !== undefined && element.local !== root)) throw otherKind(element);
    if (root !== undefined) return 'enter';
    const path = pathOf(names);
    if (path === PAYMENT) content.openPayment();
    else if (path === TRANSFER) content.openTransfer();
    else if (isBehindTransfers(path))
      throw new XmlError(`it is no ${version.name}: an element stands behind the transfers`);
    if (path === READ.amount) content.keep(AMOUNT_CURRENCY, element.attribute('Ccy') ?? '');
    const treatment = treatmentOf(path, version, leftOut);
    if (treatment === 'refuse') content.refuse(path, '', leaveOutRemedy(leaveOutName(path, version)));
    return treatment;
  }

  /** Transfers are the last elements of their PmtInf; what stood behind them would have come too late for them. */
  function isBehindTransfers(path: string): boolean {
    return names.length === ROOT.length + 2 && path.startsWith(`${PAYMENT}/`) && content.hasTransfers();
  }

  function closeElement(path: string, treatment: Treatment): void {
    if (treatment === 'read') content.keep(path, text);
    else if (path === TRANSFER) content.closeTransfer();
    else if (path === PAYMENT) content.closePayment();
    else if (names.length === ROOT.length) content.end();
  }

  const listener: XmlListener = {
    open(element) {
      names.push(element.local);
      text = '';
      const within = treatments.at(-1);
      treatments.push(within === 'pass' || within === 'refuse' ? 'pass' : openElement(element));
    },
    text(piece) {
      const treatment = treatments.at(-1);
      if (treatment === 'enter' && piece.trim() !== '') throw new XmlError('text stands between its elements');
      if (treatment !== 'read') return;
      text += piece;
      if (text.length > TEXT_CHARACTERS_MAX) throw new XmlError('a text in it is far too long');
    },
    close() {
      const treatment = treatments.pop();
      if (treatment === 'read' || treatment === 'enter') closeElement(pathOf(names), treatment);
      names.pop();
      text = '';
    },
  };
  return { listener, versionName: () => version?.name };
}

function requireVersion(element: XmlElement): MessageVersion {
  const version = versionOf(element.uri);
  if (version !== undefined) return version;
  const found = messageNameIn(element.uri);
  if (found === undefined || versionNamed(found) !== undefined) throw otherKind(element);
  throw new XmlError(`it is ${found}, and what can be read is ${VERSION_NAMES.join(', ')}`);
}

function otherKind({ local, uri }: XmlElement): XmlError {
  const namespace =
    uri === '' ? 'no namespace' : `the namespace ${escapeUnseen(uri.slice(0, NAMESPACE_CHARACTERS_MAX))}`;
  return new XmlError(`it is no pain.001: it has an element ${showValue(null, local)} of ${namespace}`);
}

function leaveOutRemedy(name: string | undefined): string | undefined {
  if (name === undefined) return undefined;
  return `Add "${name}" to pain001.leaveOut of the template to do without it, or remove the element where the message is made.`;
}

function pathOf(names: readonly string[]): string {
  return names.slice(ROOT.length).join('/');
}
