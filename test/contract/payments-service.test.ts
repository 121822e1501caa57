import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { EXIT } from '../../src/cli/exit-code.ts';
import { SWITCH_DEFAULTS, type SwitchSettings } from '../../src/sandbox/faults/switches.ts';
import { BENEFICIARY, type Desk, openDesk, QUOTE, type Sent, send } from '../sandbox/desk.ts';
import { rowsOf } from '../support/paid-once.ts';
import { ROOT, useProcesses } from '../support/payrun-processes.ts';
import { startService } from '../support/service-process.ts';
import { startValidatingProxy, type ValidatingProxy } from './validating-proxy.ts';

const FILE = join(ROOT, 'samples/third-party.csv');
const UUID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/;
const NOBODY = '99999999-9999-4999-8999-999999999999';

const processes = useProcesses();

async function openProxy(service: string): Promise<ValidatingProxy> {
  const proxy = await startValidatingProxy(service);
  onTestFinished(() => proxy.stop());
  return proxy;
}

/** Path and status of all answers, each once, with `{payment_id}` for an id. */
async function answered(proxy: ValidatingProxy): Promise<string[]> {
  return [...new Set((await proxy.answers()).map((answer) => answer.replace(UUID, '{payment_id}')))].toSorted();
}

test('payrun and the sandbox keep to the description of the service, in each operation', async () => {
  const rows = rowsOf(readFileSync(FILE, 'utf8'));
  const service = await startService(processes, {
    identities: {
      BENEFICIARY: [...new Set(rows.map((row) => row['beneficiaryIdentityId'] ?? ''))],
      ORIGINATOR: [...new Set(rows.map((row) => row['originatorIdentityId'] ?? ''))].filter(Boolean),
    },
    switches: ['error500AfterCommit=0.3', 'refused=0.3', 'quoteTaxed=0.3', 'quoteSeveral=0.3', 'endsFailed=0.3'],
  });
  const proxy = await openProxy(service.url);
  const env = { ...service.settings(proxy.url), PAYRUN_DATA_DIR: join(processes.folder(), 'data') };

  const ran = await processes.run(['run', FILE], { env });
  await processes.run(['doctor'], { env });

  expect(await proxy.violations()).toEqual([]);
  expect(ran).toMatchObject({ code: EXIT.notPaid });
  expect(await answered(proxy)).toEqual([
    '/v2/identities 200',
    '/v2/oauth/token 200',
    '/v2/oauth/token/test 200',
    '/v2/payments 201',
    '/v2/payments 400',
    '/v2/payments 500',
    '/v2/payments/{payment_id} 200',
    '/v2/payments/{payment_id} 404',
    '/v2/quotes/quote-collection 201',
  ]);
});

/** A sandbox behind the proxy; `ask` gives the status of the answer to one request that goes through both. */
async function openProxiedDesk(): Promise<{ desk: Desk; proxy: ValidatingProxy; ask: Asking }> {
  const desk = await openDesk();
  const proxy = await openProxy(desk.url);
  const ask: Asking = async (path, sent = {}) => {
    const method = sent.body === undefined ? 'GET' : 'POST';
    return (await send(`${proxy.url}${path}`, { method, token: desk.token, ...sent })).status;
  };
  return { desk, proxy, ask };
}
type Asking = (path: string, sent?: Sent) => Promise<number>;

const ANSWERS: readonly (readonly [
  switches: SwitchSettings,
  path: string,
  body: object | undefined,
  status: number,
])[] = [
  [{ quoteRefused: 1 }, '/v2/quotes/quote-collection', QUOTE, 400],
  [{ quoteUnauthorised: 1 }, '/v2/quotes/quote-collection', QUOTE, 401],
  [{ quoteForbidden: 1 }, '/v2/quotes/quote-collection', QUOTE, 403],
  [{ quoteFails: 1 }, '/v2/quotes/quote-collection', QUOTE, 500],
  [{ emptyQuotes: true }, '/v2/quotes/quote-collection', QUOTE, 201],
  [{ quoteWithoutExpiry: true }, '/v2/quotes/quote-collection', QUOTE, 201],
  [{ paymentRequired: 1 }, '/v2/payments', { quoteId: NOBODY, beneficiaryIdentityId: BENEFICIARY }, 402],
  [{ forbidden: 1 }, '/v2/payments', { quoteId: NOBODY, beneficiaryIdentityId: BENEFICIARY }, 403],
  [{ errorShape: 'object' }, '/v2/payments', { quoteId: NOBODY, beneficiaryIdentityId: BENEFICIARY }, 404],
  [{ errorShape: 'flat' }, '/v2/payments', { quoteId: NOBODY, beneficiaryIdentityId: BENEFICIARY }, 404],
  [{ errorShape: 'string-status' }, '/v2/payments', { quoteId: NOBODY, beneficiaryIdentityId: BENEFICIARY }, 404],
  [{ lookUpUnauthorised: 1 }, `/v2/payments/${NOBODY}`, undefined, 401],
  [{ lookUpError500: 1 }, `/v2/payments/${NOBODY}`, undefined, 500],
  [{}, '/v2/identities?nickName=nobody', undefined, 404],
];

test('what the sandbox answers where it refuses, and where the interface is open, keeps to the description', async () => {
  const { desk, proxy, ask } = await openProxiedDesk();
  for (const [switches, path, body, status] of ANSWERS) {
    desk.sandbox.switches.set({ ...SWITCH_DEFAULTS, ...switches });
    expect([switches, await ask(path, { body })]).toEqual([switches, status]);
  }
  expect(await proxy.violations()).toEqual([]);
});

const WRONG_REQUESTS: readonly (readonly [fault: string, path: string, sent: Sent])[] = [
  ['an amount as a text', '/v2/quotes/quote-collection', { body: { ...QUOTE, quoteAmount: '100' } }],
  ['a field that the service does not have', '/v2/quotes/quote-collection', { body: { ...QUOTE, internalId: 'x' } }],
  ['no beneficiary', '/v2/payments', { body: { quoteId: NOBODY } }],
  ['an id that is no UUID', '/v2/payments/1', {}],
  ['a type of identity that is none', '/v2/identities?identityType=PAYER', {}],
  ['an empty token', '/v2/identities', { token: '' }],
  ['a method that the operation does not have', '/v2/identities', { body: {} }],
  ['a path of no operation', '/v2/payments/filter/all', {}],
];

test('a request with a fault is a violation, and does not reach the service', async () => {
  const { desk, proxy, ask } = await openProxiedDesk();
  const before = desk.sandbox.counters();
  for (const [index, [fault, path, sent]] of WRONG_REQUESTS.entries()) {
    await ask(path, sent);
    expect([fault, (await proxy.violations()).length]).toEqual([fault, index + 1]);
  }
  expect(desk.sandbox.counters()).toEqual(before);
});

const WRONG_ANSWERS: readonly (readonly [fault: string, switches: SwitchSettings, path: string, sent: Sent])[] = [
  ['a page of HTML', { quoteHtml: 1 }, '/v2/quotes/quote-collection', { body: QUOTE }],
  ['no body', { lookUpEmpty: 1 }, `/v2/payments/${NOBODY}`, {}],
  ['a status that nothing says of the operation', { lookUpError503: 1 }, `/v2/payments/${NOBODY}`, {}],
  ['a status without the error body', { lookUpBareNotFound: 1 }, `/v2/payments/${NOBODY}`, {}],
];

test('an answer with a fault is a violation', async () => {
  const { desk, proxy, ask } = await openProxiedDesk();
  for (const [index, [fault, switches, path, sent]] of WRONG_ANSWERS.entries()) {
    desk.sandbox.switches.set({ ...SWITCH_DEFAULTS, ...switches });
    await ask(path, sent);
    expect([fault, (await proxy.violations()).length]).toEqual([fault, index + 1]);
  }
});
