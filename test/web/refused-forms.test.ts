import { describe, expect, test, vi } from 'vitest';
import { valueTexts } from '../../src/ledger/payouts/values.ts';
import { armPayout, beginRun, movePayout, payoutAt, recordRun } from '../runs/recorded-run.ts';
import { changeStored } from '../support/records.ts';
import { useTestRedis } from '../support/redis.ts';
import { configured } from './api-rig.ts';
import { type FormField, foreignParts, formsOf, type PageForm, wordsOf } from './page-html.ts';
import { openWebRig } from './rig.ts';
import type { Answer, Visitor } from './visitor.ts';
import { openWholeSite, pageRoutes, type Route } from './whole-site.ts';

vi.setConfig({ testTimeout: 120_000 });

const server = await useTestRedis();

/** What a page that is careless with text would run; no reason may have it, because of the sign |. */
const CRUEL = '"><img src=x onerror=alert(1)>|</textarea><script>alert(2)</script>';
const CANARY = 'four canary words indeed';

/** A form that is sent, and what is wrong with it. */
interface Case {
  readonly route: Route;
  /** Where it stands; `:run` and so on are those of the site. */
  readonly page: string;
  readonly action: string;
  /** As somebody fills it in. */
  readonly typed: Readonly<Record<string, string>>;
  /** What is typed and never shown again. */
  readonly secret?: Readonly<Record<string, string>>;
  /** Which of several forms. */
  readonly form?: string;
  /** The field that is wrong; undefined where it is the whole. */
  readonly wrong?: string;
  readonly status?: number;
  /** A part of what is told. */
  readonly told?: string;
}

const RUN = '/runs/pays';
const ROW = '/runs/pays/payouts/2';
const MORNING = { name: 'morning', cron: '30 6 * * 1-5', zone: 'Europe/Berlin', act: 'start', dir: '', window: '90m' };
const UPLOAD = {
  expectRows: '250',
  expectTotals: 'USD 12.50',
  skipInvalid: 'yes',
  start: 'at',
  at: '2099-01-01T06:30',
  zone: 'UTC',
  again: 'yes',
};

/** Each form that has fields to fill in, with each field that may be wrong. */
const CASES: readonly Case[] = [
  {
    route: 'POST /sign-in',
    page: '/sign-in',
    action: '/sign-in',
    typed: { name: CRUEL },
    secret: { password: CANARY },
    status: 401,
    told: 'The name or the password is not right.',
  },
  {
    route: 'POST /sign-in',
    page: '/sign-in',
    action: '/sign-in',
    typed: { name: ' ' },
    secret: { password: CANARY },
    wrong: 'name',
  },
  {
    route: 'POST /password',
    page: '/password',
    action: '/password',
    typed: { name: 'ada' },
    secret: { kind: 'change', password: CANARY, newPassword: `${CANARY} 1`, repeated: `${CANARY} 2` },
    wrong: 'repeated',
  },
  {
    route: 'POST /password',
    page: '/password',
    action: '/password',
    typed: { name: 'ada' },
    secret: { kind: 'change', password: CANARY, newPassword: 'canary1', repeated: 'canary1' },
    wrong: 'newPassword',
  },
  {
    route: 'POST /password',
    page: '/password',
    action: '/password',
    typed: { name: 'ada' },
    secret: { kind: 'change', password: CANARY, newPassword: `${CANARY} 1`, repeated: `${CANARY} 1` },
    wrong: 'password',
    status: 401,
  },
  ...[
    { typed: { ...UPLOAD, expectRows: CRUEL }, wrong: 'expectRows' },
    { typed: { ...UPLOAD, expectTotals: `USD 1\n${CRUEL}` }, wrong: 'expectTotals' },
    { typed: { ...UPLOAD, expectTotals: 'USD 1\nUSD 2' }, wrong: 'expectTotals' },
    { typed: { ...UPLOAD, expectTotals: 'ZZZ 1' }, wrong: 'expectTotals' },
    {
      typed: { ...UPLOAD, expectTotals: '' },
      secret: { expectTotals: 'USD 1'.repeat(16_400) },
      wrong: 'expectTotals',
      status: 413,
    },
    { typed: { ...UPLOAD, at: '2020-01-01T06:30' }, wrong: 'at', told: 'has passed' },
    { typed: { ...UPLOAD, start: 'now' }, wrong: 'at' },
    { typed: { ...UPLOAD, zone: 'Mars/Olympus' }, wrong: 'zone' },
  ].map((one) => ({ route: 'POST /upload', page: '/upload', action: '/upload', ...one })),
  ...[
    { typed: { runs: CRUEL, format: 'csv' }, wrong: 'runs' },
    { typed: { runs: 'pays none', format: 'page' }, wrong: 'runs' },
    { typed: { runs: 'pays', template: CRUEL, format: 'page' }, wrong: 'template' },
    { typed: { runs: 'pays', format: 'page' }, told: 'cannot be used' },
  ].map((one) => ({ route: 'POST /reconcile', page: '/reconcile', action: '/reconcile', ...one })),
  ...(['pause', 'resume'] as const).map((act) => ({
    route: `POST /runs/:run/${act}`,
    page: act === 'pause' ? RUN : '/runs/stands',
    action: `${act === 'pause' ? RUN : '/runs/stands'}/${act}`,
    typed: { reason: CRUEL },
    wrong: 'reason',
  })),
  {
    route: 'POST /runs/:run/cancel',
    page: `${RUN}/cancel`,
    action: `${RUN}/cancel`,
    typed: { reason: CRUEL },
    wrong: 'reason',
  },
  {
    route: 'POST /runs/:run/send-back',
    page: '/runs/waits/send-back',
    action: '/runs/waits/send-back',
    typed: { reason: CRUEL },
    wrong: 'reason',
  },
  {
    route: 'POST /runs/:run/purge',
    page: '/runs/over/purge',
    action: '/runs/over/purge',
    typed: { olderThan: CRUEL },
    wrong: 'olderThan',
  },
  {
    route: 'POST /runs/:run/purge',
    page: '/runs/over/purge',
    action: '/runs/over/purge',
    typed: { olderThan: '400d' },
    status: 409,
    told: 'Run over cannot be purged',
  },
  ...[
    { typed: { decision: 'drop', reason: CRUEL }, wrong: 'reason' },
    { typed: { reason: 'looked into it' }, wrong: 'decision' },
  ].map((one) => ({ route: 'POST /runs/:run/payouts/:line/decide', page: ROW, action: `${ROW}/decide`, ...one })),
  ...[
    { typed: { decision: 'paid', paymentId: ' ', reason: CRUEL.replace('|', '') }, wrong: 'paymentId' },
    { typed: { decision: 'paid', paymentId: CRUEL, reason: 'the bank says so' }, status: 503, told: 'sandbox' },
  ].map((one) => ({
    route: 'POST /runs/:run/payouts/:line/decide',
    page: '/runs/pays/payouts/4',
    action: '/runs/pays/payouts/4/decide',
    ...one,
  })),
  {
    route: 'POST /runs/:run/payouts/:line/decide',
    page: '/runs/pays/payouts/3',
    action: '/runs/pays/payouts/3/decide',
    typed: { decision: 'drop', paymentId: '', reason: CRUEL },
    form: 'confirm drop of 1',
    wrong: 'reason',
  },
  {
    route: 'POST /runs/:run/settle/:code',
    page: '/runs/pays/settle/E_LIMIT',
    action: '/runs/pays/settle/E_LIMIT',
    typed: { decision: 'drop', reason: CRUEL, 'line-3': 'on' },
    wrong: 'reason',
  },
  {
    route: 'POST /runs/:run/payouts/:line/cancel',
    page: '/runs/pays/payouts/5',
    action: '/runs/pays/payouts/5/cancel',
    typed: { reason: CRUEL },
    wrong: 'reason',
  },
  {
    route: 'POST /block-list',
    page: '/block-list',
    action: '/block-list',
    typed: { id: CRUEL, reason: 'account taken over' },
    wrong: 'id',
  },
  ...[
    { typed: { ...MORNING, name: CRUEL }, wrong: 'name' },
    { typed: { ...MORNING, cron: '61 * * * *' }, wrong: 'cron', told: 'is not a cron expression' },
    { typed: { ...MORNING, cron: '' }, wrong: 'cron' },
    { typed: { ...MORNING, zone: 'Mars/Olympus' }, wrong: 'zone' },
    { typed: { ...MORNING, window: 'long' }, wrong: 'window', told: 'is not a duration' },
    { typed: { ...MORNING, act: 'inbox', dir: '/nowhere/at/all' }, wrong: 'dir' },
    { typed: { ...MORNING, act: 'inbox' }, wrong: 'dir' },
    { typed: { ...MORNING, act: 'purge' }, wrong: 'act', told: 'PAYRUN_RETENTION' },
    // However the address is written, whoever is named by an address of mail, and whatever signs the password has.
    ...[
      'sftp://u:canary@host/in',
      ' sftp://u:canary@host/in',
      'sftp://u@mail.example:canary@host/in',
      'sftp://u:canary/1@host/in',
      's3://u:canary@host/in',
    ].map((dir) => ({ typed: { ...MORNING, act: 'inbox', dir: '' }, secret: { dir }, wrong: 'dir' })),
  ].map((one) => ({ route: 'POST /schedules', page: '/schedules', action: '/schedules', ...one })),
  { route: 'POST /halt', page: '/settings', action: '/halt', typed: { reason: CRUEL }, wrong: 'reason' },
  {
    route: 'POST /users',
    page: '/users',
    action: '/users',
    typed: { name: 'x'.repeat(65), role: 'checker' },
    wrong: 'name',
  },
  { route: 'POST /users', page: '/users', action: '/users', typed: { name: '<b>', role: 'checker' }, wrong: 'name' },
  {
    route: 'POST /users',
    page: '/users',
    action: '/users',
    typed: { name: 'ADA', role: 'maker' },
    status: 409,
    told: 'There is a user ada already.',
  },
  {
    route: 'POST /users/role',
    page: '/users',
    action: '/users/role',
    form: 'role of ada',
    typed: { name: 'ada', role: 'viewer' },
    status: 409,
    told: 'ada is the only admin.',
  },
  {
    route: 'POST /keys',
    page: '/keys',
    action: '/keys',
    typed: { name: 'books', role: 'maker', days: CRUEL },
    wrong: 'days',
  },
  {
    route: 'POST /keys',
    page: '/keys',
    action: '/keys',
    typed: { name: 'a/b', role: 'maker', days: '7' },
    wrong: 'name',
  },
  { route: 'POST /audit/verify', page: '/audit', action: '/audit/verify', typed: { head: CRUEL }, wrong: 'head' },
];

/** Forms in which nothing is filled in; what is refused of them is told on a page of its own. */
const BUTTONS: readonly Route[] = [
  'POST /sign-out',
  'POST /uploads/:id/cost',
  'POST /uploads/:id/hand-in',
  'POST /uploads/:id/discard',
  'POST /runs/:run/approve',
  'POST /block-list/unblock',
  'POST /schedules/remove',
  'POST /notifications/retry',
  'POST /notifications/test',
  'POST /settings/adopt',
  'POST /release',
  'POST /users/enable',
  'POST /users/disable',
  'POST /users/reset',
  'POST /keys/revoke',
  'POST /proposals/withdraw',
  'POST /users/factor',
  'POST /sessions/end',
  'POST /sessions/end-others',
];

/** They stand on a page only for whoever has a second factor, or sets one up: test/web/second-factor.test.ts. */
const OF_FACTORS: readonly Route[] = [
  'POST /second-factor',
  'POST /second-factor/begin',
  'POST /second-factor/challenge',
  'POST /second-factor/passkey',
  'POST /second-factor/passkey/begin',
  'POST /second-factor/passkey/remove',
  'POST /second-factor/prove',
  'POST /second-factor/recovery',
  'POST /sign-in/second-factor',
];

/** A run that is paid with payouts to decide, one that is paused, and one that is over; and ada, who is the only admin. */
async function openSite() {
  const rig = await openWebRig(server.url);
  const { ledger } = rig.app;
  await recordRun(ledger, { id: 'pays', lines: [2, 3, 4, 5] });
  for (const line of [2, 3]) await movePayout(ledger, { runId: 'pays', line }, 'held');
  const proposal = { decision: 'drop', by: 'eve', at: 1, paymentId: '', reason: 'a duplicate', seen: '' } as const;
  const payout = await payoutAt(ledger, { runId: 'pays', line: 3 });
  const seal = ledger.seals.proposal(payout, proposal);
  const pr = valueTexts({ proposal: { proposal, seal } }).get('pr') ?? '';
  const place = { redis: server.redis, prefix: rig.app.config.prefix, runId: 'pays', line: 3 };
  await changeStored(place, { pr, rc: 'E_LIMIT' });
  await armPayout(ledger, { runId: 'pays', line: 4 }, 'quote-4');
  await movePayout(ledger, { runId: 'pays', line: 4 }, 'unknown', 'held');
  await recordRun(ledger, { id: 'stands', lines: [2] });
  await ledger.runs.move('stands', { to: 'paused', actor: 'test', reason: 'test' });
  await recordRun(ledger, { id: 'over', lines: [2] });
  await ledger.runs.move('over', { to: 'cancelled', actor: 'test', reason: 'test' });
  await beginRun(ledger, { id: 'waits', lines: [2] });
  await ledger.runs.move('waits', { to: 'awaiting-approval', actor: 'test', reason: 'test' });
  return { ...rig, ada: await rig.person('ada', 'admin') };
}

async function send(who: Visitor, { action, typed, secret = {}, form }: Case): Promise<Answer> {
  const fields = { ...(form === undefined ? {} : { form }), ...typed, ...secret };
  if (!['/upload', '/reconcile'].includes(action)) return await who.post(action, fields);
  const parts = new FormData();
  parts.set('file', new Blob(['reference\nx\n']), 'payouts.csv');
  for (const [name, value] of Object.entries(fields)) parts.set(name, value);
  return await who.upload(action, parts);
}

function formOf(html: string, { action, form }: Pick<Case, 'action' | 'form'>): PageForm {
  const found = formsOf(html).filter(
    (one) => one.action === action && one.fields.find(({ name }) => name === 'form')?.value === form,
  );
  expect(found.length, `forms that are sent to ${action}`).toBe(1);
  return found[0] ?? { action, fields: [] };
}

const isSent = ({ type, value }: FormField): boolean => !['file', 'submit'].includes(type) && value !== '';

/** What a form would send if its button were pressed now; nothing for a box that is not ticked. */
function sentBy({ fields }: PageForm): Record<string, string> {
  return Object.fromEntries(fields.filter(isSent).map(({ name, value }) => [name, value]));
}

function headingOf(html: string): string | undefined {
  return /<h1>([^<]*)<\/h1>/.exec(html)?.[1];
}

const nameOf = ({ route, wrong, told, typed }: Case): string =>
  `${route}, wrong: ${wrong ?? told ?? ''} ${(typed[wrong ?? ''] ?? '').slice(0, 20)}`;

describe('a form that is refused comes back with what was typed', () => {
  test.each(CASES.map((one) => [nameOf(one), one] as const))('%s', async (_name, one) => {
    const { ada, visitor } = await openSite();
    const who = one.action === '/sign-in' ? visitor() : ada;
    const page = await who.get(one.page);
    expect(page.status).toBe(200);
    const before = formOf(page.text, one);
    expect(page.text).not.toMatch(/autofocus|aria-invalid|class="problem refusal"/);

    const { status, text, headers } = await send(who, one);
    expect(status).toBe(one.status ?? 422);
    expect(headers.get('content-type')).toContain('text/html');
    expect(headingOf(text)).toBe(headingOf(page.text));
    expect(text).toContain('<title>Not done: ');
    expect(foreignParts(text)).toEqual([]);
    expect(text).not.toContain('canary');

    const form = formOf(text, one);
    expect(form.fields.map(({ name, type }) => [name, type])).toEqual(
      before.fields.map(({ name, type }) => [name, type]),
    );
    const { csrf, form: _which, next: _next, kind: _kind, pauses: _pauses, stage: _stage, ...shown } = sentBy(form);
    const typed = Object.entries(one.typed).filter(([, value]) => value !== '');
    const lines = Object.fromEntries(Object.entries(shown).map(([name, value]) => [name, value.replaceAll('\r', '')]));
    expect(csrf ?? '').toBe(who.csrf());
    expect(lines).toEqual(Object.fromEntries(typed));
    const { invalid, focused, words, summary } = toldIn(text, form);
    expect({ invalid, focused }).toEqual({
      invalid: one.wrong === undefined ? [] : [one.wrong],
      focused: [one.wrong ?? 'summary'],
    });
    expect(text.match(/ autofocus/g)).toHaveLength(1);
    expect(words).not.toContain(undefined);
    expect(words.every((said) => (said?.length ?? 0) > 10)).toBe(true);
    expect(words.length >= invalid.length).toBe(true);
    expect(summary).toContain((one.told ?? '').replaceAll('"', '&quot;'));
    expect(summary.length).toBeGreaterThan(20);
  });

  test('and is sent again as it then stands, once what was wrong is right', async () => {
    const { app, ada } = await openSite();
    await ada.get('/block-list');
    const { text } = await ada.post('/block-list', { id: 'none', reason: 'account taken over' });
    const again = sentBy(formOf(text, { action: '/block-list' }));
    const id = '3f0c7a52-6b1d-4c8e-9a34-5d2e8b7f1c60';
    expect((await ada.post('/block-list', { ...again, id })).status).toBe(303);
    expect((await ada.get('/block-list')).text).toContain('account taken over');
    expect(await app.ledger.approvals.blocked()).toMatchObject([{ identityId: id, reason: 'account taken over' }]);
  });

  test('in whichever part of its list it stood, and with the search under which it was seen', async () => {
    const { base, ada } = await openSite();
    const own = { origin: base, 'sec-fetch-site': 'same-origin' };
    await ada.get('/audit');
    const seen = await ada.post('/audit/verify', { head: 'x' }, { ...own, referer: `${base}/audit?actor=nobody` });
    expect(seen.text).toContain('value="nobody"');
    for (const referer of [
      `${base}/audit?before=x`,
      'https://evil.example/audit?actor=evil',
      `${base}/halt?actor=evil`,
    ]) {
      const { status, text } = await ada.post('/audit/verify', { head: 'x' }, { ...own, referer });
      expect([referer, status, text.includes('evil')]).toEqual([referer, 422, false]);
    }
  });
});

describe('a form with a file', () => {
  const typed = { expectRows: '250', expectTotals: 'USD 12.50', zone: 'Europe/Berlin', again: 'yes' };
  const formWith = (file: Blob, name: string): FormData => {
    const form = new FormData();
    form.set('file', file, name);
    for (const [field, value] of Object.entries(typed)) form.set(field, value);
    return form;
  };

  test.each([
    { what: 'that was not chosen', content: '', name: '', status: 400, told: 'It must be chosen.' },
    { what: 'that is too large', content: 'x'.repeat(20_000), status: 413, told: 'Choose the file again' },
    { what: 'that is one too many', content: 'reference\nx\n', status: 409, told: 'Choose the file again', before: 1 },
  ])('$what keeps what stands below it', async ({ content, name = 'payouts.csv', status, told, before = 0 }) => {
    const env = await configured({ files: { fileBytesMax: 10_000 } });
    const { person } = await openWebRig(server.url, { env, settings: { uploadsMax: 1 } });
    const anna = await person('anna', 'maker');
    await anna.get('/upload');
    const file = new Blob([content]);
    for (let at = 0; at < before; at++) await anna.upload('/upload', formWith(file, name));
    const answer = await anna.upload('/upload', formWith(file, name));
    expect(answer.status).toBe(status);
    expect(answer.text).toContain(told);
    const { csrf: _csrf, start: _start, ...shown } = sentBy(formOf(answer.text, { action: '/upload' }));
    expect(shown).toEqual(typed);
    expect(answer.text).toContain('<details open');
  });
});

interface Told {
  /** The fields that say of themselves that they are wrong. */
  readonly invalid: readonly string[];
  /** Whatever has the keyboard; `summary` is what stands above the page. */
  readonly focused: readonly string[];
  /** What stands beside the wrong fields. */
  readonly words: readonly (string | undefined)[];
  readonly summary: string;
}

/** How a page tells what is wrong with a form of it. Of several to choose from, the group is what is wrong. */
function toldIn(text: string, { fields }: PageForm): Told {
  const [, marks = '', summary = ''] =
    /<section class="problem refusal" role="alert"([^>]*)>(.*?)<\/section>/s.exec(text) ?? [];
  const [group, describedGroup = ''] =
    /<fieldset role="radiogroup" aria-describedby="([^"]+)" aria-invalid="true"/.exec(text) ?? [];
  const invalid = fields.filter(({ attributes }) => attributes['aria-invalid'] === 'true');
  const focused = fields.filter(({ attributes }) => 'autofocus' in attributes).map(({ name }) => name);
  const described = invalid.map(({ attributes }) => attributes['aria-describedby'] ?? '');
  return {
    invalid: [...invalid.map(({ name }) => name), ...(group === undefined ? [] : ['decision'])],
    focused: [...focused, ...(/autofocus/.test(marks) && /tabindex="-1"/i.test(marks) ? ['summary'] : [])],
    words: [...described, describedGroup]
      .flatMap((ids) => ids.split(' ').filter(Boolean))
      .map((id) => wordsOf(text, id)),
    summary,
  };
}

describe('what is typed into a form', () => {
  test('to choose a password is told to whoever has no session yet, but for the secrets', async () => {
    const { visitor } = await openSite();
    const one = visitor();
    await one.get('/sign-in');
    for (const kind of ['first', 'change']) {
      const secrets = { password: CANARY, newPassword: `${CANARY} 1`, repeated: `${CANARY} 2` };
      const { status, text } = await one.post('/password', { kind, name: 'fred', ...secrets });
      expect([kind, status, text.includes('canary')]).toEqual([kind, 422, false]);
      expect(text).not.toContain('secret was right');
      const { name, kind: again } = sentBy(formOf(text, { action: '/password' }));
      expect([name, again]).toEqual(['fred', kind]);
    }
  });

  test('is shown to nobody who sends it without the token of their session', async () => {
    const { ada } = await openSite();
    await ada.get('/block-list');
    for (const csrf of ['', 'x', `${ada.csrf()}x`]) {
      const { status, text } = await ada.post('/block-list', { csrf, id: 'typed-by-evil', reason: 'x' });
      expect([status, text.includes('typed-by-evil')]).toEqual([403, false]);
    }
  });

  test('is gone with its page: what is refused then is told alone', async () => {
    const { ada } = await openSite();
    await ada.get('/runs');
    const { status, text } = await ada.post('/runs/pays/purge', { olderThan: '400d' });
    expect([status, headingOf(text)]).toEqual([409, 'Not possible now']);
    expect(text).toContain('Run pays cannot be purged: it is paying.');
    const none = await ada.post('/runs/none/pause', { reason: 'x' });
    expect([none.status, headingOf(none.text)]).toEqual([404, 'Not found']);
  });

  test('stands beside the page of a run as it is now, where its form is gone', async () => {
    const { ada } = await openSite();
    await ada.get('/runs/over');
    const { status, text } = await ada.post('/runs/over/pause', { reason: 'too late' });
    expect([status, headingOf(text)]).toEqual([409, 'over.csv']);
    expect(text).toMatch(/class="problem refusal" role="alert"/);
    expect(formsOf(text).map(({ action }) => action)).toEqual(['/sign-out']);
  });
});

test('what failed half way is not said to be not done', async () => {
  const { app, ada } = await openSite();
  vi.spyOn(app.ledger.audit, 'appendWaiting').mockRejectedValueOnce(new Error('the disk is full'));
  await ada.get('/block-list');
  const id = '3f0c7a52-6b1d-4c8e-9a34-5d2e8b7f1c60';
  const { status, text } = await ada.post('/block-list', { id, reason: 'account taken over' });
  expect(await app.ledger.approvals.blocked()).toMatchObject([{ identityId: id }]);
  expect([status, headingOf(text)]).toEqual([500, 'Blocked beneficiaries']);
  expect(text).toContain('<title>Perhaps not done: ');
  expect(text).toContain('Request ');
});

test('what was done before is not told again beside what is refused', async () => {
  const { base, ada } = await openSite();
  const done = await ada.get('/settings?adopted=adopted');
  const words = /<output>[^<]+<\/output>/.exec(done.text)?.[0] ?? 'none';
  expect(words).not.toBe('none');
  const own = { origin: base, 'sec-fetch-site': 'same-origin', referer: `${base}/settings?adopted=adopted` };
  const { status, text } = await ada.post('/halt', { reason: '' }, own);
  expect([status, text.includes(words)]).toEqual([422, false]);
});

test('each form of the pages has its case here, or has nothing to fill in', async () => {
  const { web } = await openWholeSite(server);
  const forms = pageRoutes(web).filter((route) => route.startsWith('POST ') && !route.includes('/admin/queues'));
  expect([...new Set(CASES.map(({ route }) => route)), ...BUTTONS, ...OF_FACTORS].toSorted()).toEqual(forms.toSorted());
});

test('no page has a field in a form that is said to have none', async () => {
  const { web, ada } = await openSite();
  const paths = [...new Set(CASES.map(({ page }) => page)), '/runs', '/to-settle', '/inbox', '/notifications', RUN];
  const buttons = [...BUTTONS, 'POST /second-factor/begin'].map(
    (route) => new RegExp(`^${route.slice(5).replaceAll(/:\w+/g, '[^/]+')}$`),
  );
  let seen = 0;
  for (const path of paths.filter((one) => one !== '/sign-in')) {
    for (const { action, fields } of formsOf((await ada.get(path)).text)) {
      seen++;
      const typed = fields.filter(({ type }) => type !== 'hidden');
      const isButton = buttons.some((pattern) => pattern.test(action));
      expect([path, action, isButton]).toEqual([path, action, typed.length === 0]);
    }
  }
  expect(seen).toBeGreaterThan(25);
  expect(pageRoutes(web)).toContain('GET /notifications');
});
