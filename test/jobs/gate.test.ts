import { expect, test } from 'vitest';
import { openGate } from '../../jobs/gate.ts';

/** Tasks that end when they are told to, and what came of them. */
function tasks() {
  const begun: number[] = [];
  const ends: ((error?: Error) => void)[] = [];
  return {
    begun,
    task: (id: number) => () =>
      new Promise<number>((settle, fail) => {
        begun.push(id);
        ends[id] = (error) => (error === undefined ? settle(id) : fail(error));
      }),
    end: (id: number, error?: Error) => ends[id]?.(error),
  };
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
}

test('no more tasks than allowed run at a time, and the others come in their order', async () => {
  const gate = openGate(2);
  const { begun, task, end } = tasks();
  const results = Promise.all([0, 1, 2, 3, 4].map((id) => gate('run', task(id))));
  expect(begun).toEqual([0, 1]);
  end(1);
  await turns();
  expect(begun).toEqual([0, 1, 2]);
  end(0);
  await turns();
  expect(begun).toEqual([0, 1, 2, 3]);
  end(2);
  end(3);
  await turns();
  end(4);
  await expect(results).resolves.toEqual([0, 1, 2, 3, 4]);
});

test('a task that fails gives its place to the next, and its error to its caller', async () => {
  const gate = openGate(1);
  const { begun, task, end } = tasks();
  const first = gate('run', task(0));
  const second = gate('run', task(1));
  end(0, new Error('lost'));
  await expect(first).rejects.toThrow('lost');
  await turns();
  expect(begun).toEqual([0, 1]);
  end(1);
  await expect(second).resolves.toBe(1);
});

test('a place is given to one task only, also when tasks come while another ends', async () => {
  const gate = openGate(3);
  let running = 0;
  let most = 0;
  const work = async (): Promise<void> => {
    most = Math.max(most, ++running);
    await turns();
    running--;
  };
  await Promise.all(
    Array.from({ length: 50 }, async (_value, index) => {
      for (let turn = 0; turn < index % 7; turn++) await Promise.resolve();
      await gate(`run-${index % 3}`, work);
      await gate(`run-${index % 3}`, work);
    }),
  );
  expect(most).toBe(3);
  expect(running).toBe(0);
});

test('an empty gate lets a task in at once', async () => {
  const gate = openGate(1);
  for (let round = 0; round < 3; round++) await expect(gate('run', async () => round)).resolves.toBe(round);
});

test('a run that comes late with a few tasks does not wait for all that another one has left', async () => {
  const gate = openGate(1);
  const { begun, task, end } = tasks();
  const large = [0, 1, 2, 3, 4, 5].map((id) => gate('large', task(id)));
  const small = [10, 11].map((id) => gate('small', task(id)));
  for (const id of [0, 1, 10, 2, 11, 3, 4, 5]) {
    expect(begun.at(-1)).toBe(id);
    end(id);
    await turns();
  }
  await Promise.all([...large, ...small]);
});
