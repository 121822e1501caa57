import { describe, expect, test } from 'vitest';
import { type CheckedFile, checkPayoutSource } from '../../src/intake/check-file.ts';
import { LEFT_OUT_ELEMENTS } from '../../src/intake/pain001/elements.ts';
import { parseTemplate } from '../../src/intake/template/file.ts';
import { messageXml, paymentXml, transferXml } from './payment-message.ts';
import { VERSION_03_MESSAGES, VERSION_09_MESSAGES } from './payment-messages.ts';
import { sourceOf, UUID } from './payout-text.ts';

const ISO = 'urn:iso:std:iso:20022:tech:xsd:';

function check(xml: string, more: object = {}): Promise<CheckedFile> {
  const template = parseTemplate(
    JSON.stringify({
      name: 'test',
      ...more,
      pain001: {
        creditorBy: 'creditorAccount',
        beneficiaries: { DE89370400440532013000: UUID },
        leaveOut: LEFT_OUT_ELEMENTS,
      },
    }),
  );
  if (Array.isArray(template)) throw new Error(template.join('\n'));
  return checkPayoutSource({ ...sourceOf(xml, 512), name: 'test.xml' }, { template });
}

function messageOf(version: string, { id = '', more = '' } = {}): string {
  const transfers = [transferXml({ ...(id === '' ? {} : { id }), more })];
  const namespace = version.endsWith('.ch.02') ? SWISS_03 : `${ISO}${version}`;
  return messageXml({ namespace, count: '1', payments: [paymentXml({ transfers })] });
}

const SWISS_03 = 'http://www.six-interbank-clearing.com/de/pain.001.001.03.ch.02.xsd';
const READ = [
  'pain.001.001.03',
  'pain.001.003.03',
  'pain.001.001.03.ch.02',
  'pain.001.001.08',
  'pain.001.001.09',
  'pain.001.001.10',
  'pain.001.001.11',
];

describe('a payment message of version', () => {
  test.each(READ)('%s is read, and says the same as one of each other', async (version) => {
    const checked = await check(messageOf(version));
    expect(checked).toMatchObject({ rows: 1, valid: 1, problems: [] });
    expect(checked.contentHash).toBe((await check(messageOf('pain.001.001.09'))).contentHash);
  });

  test.each([
    ['pain.001.001.03', '<OrgId><BICOrBEI>DEUTDEFF</BICOrBEI></OrgId>', true],
    ['pain.001.003.03', '<OrgId><BICOrBEI>DEUTDEFF</BICOrBEI></OrgId>', true],
    ['pain.001.001.03.ch.02', '<OrgId><AnyBIC>DEUTDEFF</AnyBIC></OrgId>', false],
    ['pain.001.001.03', '<OrgId><AnyBIC>DEUTDEFF</AnyBIC></OrgId>', false],
    ['pain.001.001.08', '<OrgId><AnyBIC>DEUTDEFF</AnyBIC></OrgId>', true],
    ['pain.001.001.08', '<OrgId><LEI>529900T8BM49AURSDO55</LEI></OrgId>', false],
    ['pain.001.001.09', '<OrgId><BICOrBEI>DEUTDEFF</BICOrBEI></OrgId>', false],
    ['pain.001.001.11', '<OrgId><AnyBIC>DEUTDEFF</AnyBIC><LEI>529900T8BM49AURSDO55</LEI></OrgId>', true],
  ])('%s with %s is taken: %s', async (version, id, isTaken) => {
    const { problems } = await check(messageOf(version, { id }));
    expect(problems.map(({ code }) => code)).toEqual(isTaken ? [] : ['E_ELEMENT']);
  });

  test.each([
    ...VERSION_03_MESSAGES.map(([writer, xml]) => ({ words: `03 as ${writer}`, xml })),
    ...VERSION_09_MESSAGES.map(([writer, xml]) => ({ words: `09 as ${writer}`, xml })),
  ])('$words writes it is read whole', async ({ xml }) => {
    // Banks know the currency of the debtor's account, so many messages leave it out.
    const hasCurrency = /<DbtrAcct>.*?<Ccy>/s.test(xml);
    const checked = await check(xml, hasCurrency ? {} : { fixed: { sourceCurrency: 'EUR' } });
    expect(checked.problems).toEqual([]);
    expect(checked).toMatchObject({ rows: 2, valid: 2, totals: [{ minor: 35_050n }] });
  });

  test.each([
    ['pain.001.001.02', `${ISO}pain.001.001.02`],
    ['pain.001.002.03', `${ISO}pain.001.002.03`],
    ['pain.001.001.12', `${ISO}pain.001.001.12`],
    ['pain.008.001.02', `${ISO}pain.008.001.02`],
    ['pain.001.001.09.ch.02', 'http://www.six-interbank-clearing.com/de/pain.001.001.09.ch.02.xsd'],
  ])('%s is refused by its name, with the names of those that are read', async (name, namespace) => {
    const { problems } = await check(messageXml({ namespace, count: '1', payments: [] }));
    expect(problems).toMatchObject([{ code: 'E_MESSAGE' }]);
    expect(problems[0]?.message).toContain(`it is ${name}, and what can be read is ${READ.join(', ')}`);
  });

  test('03 that goes on in the namespace of 09 is refused', async () => {
    const mixed = messageOf('pain.001.001.03').replace('<Amt>', `<Amt xmlns="${ISO}pain.001.001.09">`);
    expect((await check(mixed)).problems[0]?.code).toBe('E_MESSAGE');
  });
});
