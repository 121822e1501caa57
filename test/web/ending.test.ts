import { expect, test, vi } from 'vitest';
import { recordRun } from '../runs/recorded-run.ts';
import { useTestRedis } from '../support/redis.ts';
import { openApiRig } from './api-rig.ts';
import { openWebRig } from './rig.ts';

const server = await useTestRedis();

/** As the sweeper notes it: a row each two seconds. */
function pace(): Record<string, string> {
  const now = Date.now();
  return { pace: `${now - 6000}:0 ${now - 4000}:1 ${now - 2000}:2 ${now}:3` };
}

test('the page of a run that is paid tells when it ends, at the rate that was measured, until everything is halted', async () => {
  const { app, person } = await openWebRig(server.url);
  const run = await recordRun(app.ledger, { lines: [2, 3, 4] });
  const anna = await person('anna', 'admin');
  const shown = async () => (await anna.get(`/runs/${run}`)).text;
  expect(await shown()).not.toContain('Ends about');
  await app.ledger.runs.note(run, pace());
  expect(await shown()).toContain('No worker is running: nothing is sent.');
  vi.spyOn(app.jobs, 'workers').mockResolvedValue([{ host: 'a', pid: 7 }]);
  expect(await shown()).not.toContain('No worker is running');
  expect(await shown()).toMatch(/Ends about <time [^>]*>20[^<]*<\/time> at 0\.5 payments a second, as measured\./);
  await app.ledger.state.halt('anna', 'test');
  expect(await shown()).not.toContain('Ends about');
});

test('a program reads when a run that is paid ends', async () => {
  const { app, person } = await openApiRig(server.url);
  const run = await recordRun(app.ledger, { lines: [2, 3, 4] });
  const anna = await person('anna', 'viewer');
  const ending = async () => ((await anna.call('GET', `/runs/${run}/details`)).json as { ending: unknown }).ending;
  expect(await ending()).toBeNull();
  await app.ledger.runs.note(run, pace());
  expect(await ending()).toBeNull();
  vi.spyOn(app.jobs, 'workers').mockResolvedValue([{ host: 'a', pid: 7 }]);
  expect(await ending()).toEqual({ at: expect.any(String), perSecond: 0.5, isMeasured: true, missed: null });
});
