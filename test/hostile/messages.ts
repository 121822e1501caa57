import { messageXml, paymentXml, transferXml } from '../intake/payment-message.ts';

const SOUND = messageXml({ count: '1', payments: [paymentXml({ transfers: [transferXml()] })] });

function before(mark: string, more: string): Buffer {
  return Buffer.from(SOUND.replace(mark, more + mark));
}

function numbered(count: number, xml: (at: number) => string): string {
  return Array.from({ length: count }, (_, at) => xml(at)).join('');
}

/** Payment messages; each is refused with E_MESSAGE. */
export const HOSTILE_MESSAGES: readonly (readonly [what: string, make: () => Buffer])[] = [
  [
    'a billion laughs',
    () =>
      Buffer.from(
        `<!DOCTYPE x [<!ENTITY a "ha">${numbered(9, (at) => `<!ENTITY a${at} "${`&a${at - 1};`.repeat(10)}">`)}]>${SOUND}`,
      ),
  ],
  ['deep nesting', () => before('</CdtTrfTxInf>', '<RmtInf>'.repeat(1_000_000))],
  ['attributes without end', () => before('</CdtTrfTxInf>', `<RmtInf ${numbered(200_000, (at) => `a${at}="" `)}/>`)],
  ['a million elements that cannot be done', () => before('</CdtTrfTxInf>', '<Tax/>'.repeat(1_000_000))],
  ['a reference of ten million characters', () => before('</EndToEndId>', 'x'.repeat(10_000_000))],
  ['a text in a million pieces', () => before('</EndToEndId>', '<![CDATA[x]]>'.repeat(1_000_000))],
  ['a comment without end', () => before('</CdtTrfTxInf>', `<!-- ${'x'.repeat(10_000_000)}`)],
  ['a name without end', () => before('</CdtTrfTxInf>', `<${'x'.repeat(10_000_000)}`)],
  ['an entity without end', () => before('</EndToEndId>', `&${'x'.repeat(10_000_000)}`)],
  ['100,000 payments without ids', () => before('</CstmrCdtTrfInitn>', '<PmtInf></PmtInf>'.repeat(100_000))],
];
