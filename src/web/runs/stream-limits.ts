import { Problem } from '../problem.ts';

const STREAMS_MAX = 1000;
/** A page each; more than anybody looks at. */
const STREAMS_PER_PERSON_MAX = 10;

export interface StreamLimits {
  /** Counts one more stream of a person; gives what counts it out again. Throws a Problem (429) when it is one too many. */
  enter(person: string): () => void;
}

export function openStreamLimits(): StreamLimits {
  const persons = new Map<string, number>();
  let all = 0;
  return {
    enter(person) {
      const own = persons.get(person) ?? 0;
      if (own >= STREAMS_PER_PERSON_MAX)
        throw tooMany(`You follow ${own} runs already.`, 'Close a page that shows one.');
      if (all >= STREAMS_MAX) throw tooMany(`${all} people follow runs already.`, 'Reload the page from time to time.');
      persons.set(person, own + 1);
      all++;
      let isIn = true;
      return () => {
        if (!isIn) return;
        isIn = false;
        all--;
        const left = (persons.get(person) ?? 1) - 1;
        if (left > 0) persons.set(person, left);
        else persons.delete(person);
      };
    },
  };
}

function tooMany(message: string, remedy: string): Problem {
  return new Problem(429, message, remedy);
}
