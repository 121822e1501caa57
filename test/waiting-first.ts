import { relative, resolve } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Tests that wait for minutes rather than compute: begun last, they would run on alone while all else has ended. */
const WAITING = [
  'test/restore/',
  'test/crash/',
  'test/cli/outages',
  'test/cli/ends-in-outage',
  'test/cli/stages',
  'test/jobs/new-version',
  'test/jobs/schedules-processes',
];
const ROOT = resolve(import.meta.dirname, '..');

/** Starts the tests that wait first, the rest by the size of their files. */
export class WaitingFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const bySize = BaseSequencer.prototype.sort.bind(this);
    const waiting = await bySize(files.filter(isWaiting));
    return [...waiting, ...(await bySize(files.filter((file) => !isWaiting(file))))];
  }
}

function isWaiting({ moduleId }: TestSpecification): boolean {
  return WAITING.some((place) => relative(ROOT, moduleId).startsWith(place));
}
