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
    const bySize = (some: TestSpecification[]) => super.sort(some);
    return (await Promise.all([files.filter(isWaiting), files.filter((file) => !isWaiting(file))].map(bySize))).flat();
  }
}

function isWaiting({ moduleId }: TestSpecification): boolean {
  return WAITING.some((place) => relative(ROOT, moduleId).startsWith(place));
}
