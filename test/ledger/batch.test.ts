import { expect, test } from 'vitest';
import { openBatch } from '../../src/ledger/batch.ts';

/** A batch whose calls end when a test says so. */
function openRig(itemsMax = 100) {
  const calls: { readonly items: readonly number[]; readonly end: () => void }[] = [];
  const ask = openBatch<number, string>(itemsMax, (items) => {
    return new Promise((resolve) => {
      calls.push({ items, end: () => resolve(items.map((item) => `answer ${item}`)) });
    });
  });
  return { calls, ask, called: () => calls.map(({ items }) => items) };
}

test('what is asked for in one turn goes in one call, and each gets its own answer', async () => {
  const { calls, ask, called } = openRig(2);
  const answers = [ask(1), ask(2), ask(3)];
  await expect.poll(called).toEqual([[1, 2], [3]]);
  for (const { end } of calls) end();
  expect(await Promise.all(answers)).toEqual(['answer 1', 'answer 2', 'answer 3']);
});

test('what is asked for while a call is under way goes in one call after it', async () => {
  const { calls, ask, called } = openRig();
  const first = ask(1);
  await expect.poll(called).toEqual([[1]]);
  const others = [ask(2), ask(3)];
  calls[0]?.end();
  expect(await first).toBe('answer 1');
  await expect.poll(called).toEqual([[1], [2, 3]]);
  calls[1]?.end();
  expect(await Promise.all(others)).toEqual(['answer 2', 'answer 3']);
});

test('a call that is never answered keeps nobody else waiting', async () => {
  const { calls, ask, called } = openRig();
  void ask(1);
  await expect.poll(called).toEqual([[1]]);
  const second = ask(2);
  await expect.poll(called).toEqual([[1], [2]]);
  calls[1]?.end();
  expect(await second).toBe('answer 2');
});

test('the fault of a call is that of all who waited for it', async () => {
  const ask = openBatch<number, string>(100, () => Promise.reject(new Error('lost')));
  const answers = await Promise.allSettled([ask(1), ask(2)]);
  expect(answers.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  await expect(ask(3)).rejects.toThrow('lost');
});
