import { describe, expect, test } from 'vitest';
import { type CheckedFile, checkPayoutSource } from '../../src/intake/check-file.ts';
import { LEFT_OUT_ELEMENTS } from '../../src/intake/pain001/elements.ts';
import { parseTemplate } from '../../src/intake/template/file.ts';
import { messageXml, paymentXml, transferXml } from './payment-message.ts';
import { sourceOf, UUID } from './payout-text.ts';

/** What a payer meets whose message is the export of a bank or of a system. */

const ISO = 'urn:iso:std:iso:20022:tech:xsd:';

function check(xml: string, leaveOut: readonly string[] = []): Promise<CheckedFile> {
  const template = parseTemplate(
    JSON.stringify({
      name: 'test',
      pain001: { creditorBy: 'creditorAccount', beneficiaries: { DE89370400440532013000: UUID }, leaveOut },
    }),
  );
  if (Array.isArray(template)) throw new Error(template.join('\n'));
  return checkPayoutSource({ ...sourceOf(xml, 512), name: 'test.xml' }, { template });
}

/** Two payments; the head is that of the second one. */
function messageOf({
  head = '',
  sum = '103.50',
  amount = '3.5',
  more = '',
  namespace = `${ISO}pain.001.001.09`,
} = {}): string {
  const payments = [
    paymentXml({ transfers: [transferXml()] }),
    paymentXml({ head, transfers: [transferXml({ reference: 'INV-2', amount, more })] }),
  ];
  return messageXml({ count: '2', sum, payments, namespace });
}

describe('an element that payrun cannot do is refused', () => {
  test.each([
    ['ReqdExctnDt', { head: '<ReqdExctnDt><Dt>2026-04-01</Dt></ReqdExctnDt>' }, 'PmtInf 2/ReqdExctnDt'],
    ['ChrgBr', { head: '<ChrgBr>SLEV</ChrgBr>' }, 'PmtInf 2/ChrgBr'],
    ['RmtInf', { more: '<RmtInf><Ustrd>x</Ustrd></RmtInf>' }, 'PmtInf/CdtTrfTxInf/RmtInf'],
  ])('%s with its place and the word of the template that leaves it out', async (name, xml, place) => {
    const { problems } = await check(messageOf(xml));
    expect(problems).toMatchObject([{ code: 'E_ELEMENT', message: expect.stringContaining(`: ${place}.`) }]);
    expect(problems[0]?.remedy).toContain(`Add "${name}" to pain001.leaveOut of the template`);
    expect((await check(messageOf(xml), LEFT_OUT_ELEMENTS)).problems).toEqual([]);
  });

  test.each([
    ['an ultimate debtor', messageOf({ head: '<UltmtDbtr><Nm>x</Nm></UltmtDbtr>' }), 'PmtInf 2/UltmtDbtr.'],
    ['a payment by cheque', messageOf().replace(/>TRF<(?!.*>TRF<)/s, '>CHK<'), 'PmtInf 2/PmtMtd is not TRF.'],
    [
      'what its version does not have',
      messageOf({ namespace: `${ISO}pain.001.001.03` }).replace(
        '<CreDtTm>',
        '<InitnSrc><Nm>x</Nm></InitnSrc><CreDtTm>',
      ),
      'GrpHdr/InitnSrc.',
    ],
  ])('%s with its place, and no template helps', async (_what, xml, place) => {
    const { problems } = await check(xml, LEFT_OUT_ELEMENTS);
    expect(problems).toMatchObject([{ code: 'E_ELEMENT', message: expect.stringContaining(`: ${place}`) }]);
    expect(problems[0]?.remedy).not.toContain('template');
  });
});

test('a PmtInf that is no transfer is to be made as one', async () => {
  const { problems } = await check(messageOf().replace('>TRF<', '>TRA<'));
  expect(problems).toMatchObject([
    { code: 'E_ELEMENT', message: expect.stringContaining('PmtInf 1/PmtMtd is not TRF') },
  ]);
  expect(problems[0]?.remedy).toBe('Make it as a transfer (TRF), or pay it elsewhere.');
});

test.each([
  ['<NbOfTxs>2</NbOfTxs>', 'PmtInf 2 has 1 transfers where its NbOfTxs says 2'],
  ['<CtrlSum>4</CtrlSum>', 'the amounts of PmtInf 2 add up to 3.5 where its CtrlSum says 4'],
])('%s that does not fit names the PmtInf', async (head, message) => {
  const { problems } = await check(messageOf({ head }));
  expect(problems).toMatchObject([{ code: 'E_TOTALS', message: expect.stringContaining(message) }]);
});

describe('a number is read as XML Schema has it (xs:decimal)', () => {
  test.each([
    ['blanks around it', '\n  103.5\n', ' 3.50 '],
    ['a plus sign', '+103.5', '+3.5'],
    ['no digit behind the point', '103.50', '3.50'],
    ['nothing before the point', '100.50', '.50'],
    ['nothing behind the point', '103.', '3.'],
  ])('with %s', async (_what, sum, amount) => {
    const { problems, totals } = await check(messageOf({ sum, amount, head: `<CtrlSum>${amount}</CtrlSum>` }));
    expect(problems.map(({ code }) => code)).toEqual(amount === '.50' ? ['E_AMOUNT_RANGE'] : []);
    expect(totals[0]?.minor).toBe(amount === '.50' ? 10_000n : amount === '3.' ? 10_300n : 10_350n);
  });

  test.each(['.', '', '-3.5', '3,5', '1 000', '3.5.0', '+ 3'])('and %j is none', async (amount) => {
    const { problems, valid } = await check(messageOf({ amount }));
    expect(problems.map(({ code }) => code)).toContain('E_TOTALS');
    expect(valid).toBe(1);
  });
});

describe('a message in another namespace is refused with what was found', () => {
  test.each([
    ['of a bank association', 'urn:sepade:xsd:pain.001.001.09', 'the namespace urn:sepade:xsd:pain.001.001.09'],
    ['of a schema file', `${ISO}pain.001.001.03.xsd`, `the namespace ${ISO}pain.001.001.03.xsd`],
    ['that is none', '', 'no namespace'],
    ['without end', `urn:${'x'.repeat(5000)}`, `the namespace urn:${'x'.repeat(60)}`],
  ])('%s', async (_what, namespace, found) => {
    const { problems } = await check(messageOf({ namespace }));
    expect(problems).toMatchObject([{ code: 'E_MESSAGE', message: expect.stringContaining(found) }]);
    expect(problems[0]?.message.length).toBeLessThan(300);
    expect(problems[0]?.message).not.toContain('what can be read is');
  });

  test('also where only its inner elements are in none', async () => {
    const { problems } = await check(messageOf().replace('<CstmrCdtTrfInitn>', '<CstmrCdtTrfInitn xmlns="">'));
    expect(problems[0]?.message).toContain('an element CstmrCdtTrfInitn of no namespace');
  });
});
