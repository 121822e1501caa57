import type { Actor } from './world.ts';

/** Something that is going to happen. */
interface Event {
  at: number;
  readonly seq: number;
  readonly actor: Actor | null;
  readonly label: string;
  readonly run: () => void;
  cancelled: boolean;
}

/** Events by their time, those of one time in the order in which they were asked for. */
interface Queue {
  push(event: Event): void;
  /** The earliest event, taken out; those that were taken back, and those of the dead, go on the way. */
  take(): Event | undefined;
}

/** A binary heap. What happens to a stopped process is put off when it is met. */
export function openQueue(): Queue {
  const heap: Event[] = [];

  function push(event: Event): void {
    let index = heap.push(event) - 1;
    while (index > 0) {
      const above = (index - 1) >> 1;
      const parent = heap[above];
      if (parent === undefined || isBefore(parent, event)) break;
      heap[index] = parent;
      index = above;
    }
    heap[index] = event;
  }

  function pop(): Event | undefined {
    const top = heap[0];
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return top;
    let index = 0;
    for (;;) {
      const left = 2 * index + 1;
      const right = left + 1;
      const one = heap[left];
      if (one === undefined) break;
      const other = heap[right];
      const isRight = other !== undefined && isBefore(other, one);
      const child = isRight ? other : one;
      if (isBefore(last, child)) break;
      heap[index] = child;
      index = isRight ? right : left;
    }
    heap[index] = last;
    return top;
  }

  return {
    push,
    take() {
      for (let event = pop(); event !== undefined; event = pop()) {
        if (event.cancelled || event.actor?.dead === true) continue;
        if (event.actor === null || event.actor.stoppedUntil <= event.at) return event;
        event.at = event.actor.stoppedUntil;
        push(event);
      }
      return undefined;
    },
  };
}

function isBefore(one: Event, other: Event): boolean {
  return one.at < other.at || (one.at === other.at && one.seq < other.seq);
}
