import { expect, test } from 'vitest';
import { useTestRedis } from '../support/redis.ts';
import { openWholeSite, pageRoutes, routesOf } from './whole-site.ts';

const server = await useTestRedis();

/** What a program does in the place of each form; null for what only concerns a person at a browser. */
const COUNTERPARTS: Readonly<Record<string, readonly string[] | null>> = {
  'POST /sign-in': null,
  'POST /sign-out': null,
  'POST /password': null,
  'POST /sessions/end': null,
  'POST /second-factor': null,
  'POST /second-factor/begin': null,
  'POST /second-factor/challenge': null,
  'POST /second-factor/passkey': null,
  'POST /second-factor/passkey/begin': null,
  'POST /second-factor/passkey/remove': null,
  'POST /second-factor/prove': null,
  'POST /second-factor/recovery': null,
  'POST /sign-in/second-factor': null,
  'POST /sessions/end-others': null,
  'POST /upload': ['POST /validate', 'POST /validate/marked-up'],
  'POST /reconcile': ['POST /reconcile'],
  'POST /uploads/:id/cost': ['POST /preview'],
  'POST /uploads/:id/hand-in': ['POST /runs'],
  // Of what a program sends nothing is kept but the run.
  'POST /uploads/:id/discard': null,
  'POST /runs/:run/approve': ['POST /runs/:run/approve'],
  'POST /runs/:run/pause': ['POST /runs/:run/pause'],
  'POST /runs/:run/resume': ['POST /runs/:run/resume'],
  'POST /runs/:run/cancel': ['POST /runs/:run/cancel'],
  'POST /runs/:run/send-back': ['POST /runs/:run/cancel'],
  'POST /runs/:run/purge': ['POST /runs/:run/purge'],
  'POST /runs/:run/payouts/:line/decide': [
    'POST /runs/:run/payouts/:line/allow',
    'POST /runs/:run/payouts/:line/drop',
    'POST /runs/:run/payouts/:line/resolve',
  ],
  'POST /runs/:run/payouts/:line/cancel': ['POST /runs/:run/payouts/:line/cancel'],
  'POST /runs/:run/settle/:code': ['POST /runs/:run/settle'],
  'POST /block-list': ['PUT /block-list/:identity'],
  'POST /block-list/unblock': ['DELETE /block-list/:identity'],
  'POST /schedules': ['PUT /schedules/:name'],
  'POST /schedules/remove': ['DELETE /schedules/:name'],
  'POST /notifications/retry': ['POST /notifications/retry'],
  'POST /notifications/test': ['POST /notifications/test'],
  'POST /settings/adopt': ['POST /settings/adopt'],
  'POST /halt': ['POST /halt'],
  'POST /release': ['POST /release'],
  'POST /users': ['POST /users'],
  'POST /users/role': ['POST /users/:name/role'],
  'POST /users/enable': ['POST /users/:name/enable'],
  'POST /users/disable': ['POST /users/:name/disable'],
  'POST /users/reset': ['POST /users/:name/reset'],
  'POST /users/factor': ['DELETE /users/:name/second-factor'],
  'POST /keys': ['POST /keys'],
  'POST /keys/revoke': ['DELETE /keys/:name'],
  'POST /proposals/withdraw': ['POST /proposals/withdraw'],
  'POST /audit/verify': ['GET /audit/verdict'],
};

/** What there is to take away, and the operation that gives the same. */
const DOWNLOADS: Readonly<Record<string, string>> = {
  'GET /runs/:run/report': 'GET /runs/:run/report',
  'GET /runs/:run/reports/:file': 'GET /runs/:run/reports/:file',
  'GET /runs/:run/changes.csv': 'GET /runs/:run/changes',
  'GET /runs/:run/retry-file': 'GET /runs/:run/retry-file',
  'GET /runs.csv': 'GET /runs',
  'GET /runs/:run/history.csv': 'GET /runs/:run/events',
  'GET /runs/:run/payouts.csv': 'GET /runs/:run/payouts',
  'GET /runs/:run/payouts/:line/history.csv': 'GET /runs/:run/payouts/:line',
  'GET /to-settle.csv': 'GET /to-settle',
  'GET /block-list.csv': 'GET /block-list',
  'GET /schedules.csv': 'GET /schedules',
  'GET /inbox.csv': 'GET /inbox',
  'GET /notifications.csv': 'GET /notifications',
  'GET /users.csv': 'GET /users',
  'GET /keys.csv': 'GET /keys',
  'GET /audit.csv': 'GET /audit',
  'GET /uploads/:id/problems.csv': 'POST /validate',
  'GET /uploads/:id/problems.xlsx': 'POST /validate',
  'GET /uploads/:id/marked-up.csv': 'POST /validate/marked-up',
};

test('whatever a form does, a program can do: each has its operations, which the server has', async () => {
  const { web } = await openWholeSite(server);
  const forms = pageRoutes(web).filter((route) => route.startsWith('POST ') && !route.includes('/admin/queues'));
  expect(forms.toSorted()).toEqual(Object.keys(COUNTERPARTS).toSorted());
  const operations = routesOf(web).filter((route) => route.includes(' /api/v1/'));
  const own = new Set(operations.map((route) => route.replace(' /api/v1/', ' /')));
  const wanted = [...Object.values(COUNTERPARTS), Object.values(DOWNLOADS)].flatMap((one) => one ?? []);
  expect(wanted.filter((operation) => !own.has(operation))).toEqual([]);
  expect(Object.keys(DOWNLOADS).filter((route) => !pageRoutes(web).includes(route))).toEqual([]);
});
