import { appendFileSync } from 'node:fs';
import { env } from 'node:process';

/**
 * Writes what a run of vitest came to, a line of JSON at a time, to the file that TEST_OUTCOME_FILE names. A run that dies
 * leaves what it had come to by then.
 */
export default class OutcomeReporter {
  onTestRunStart(specifications) {
    write({ files: specifications.map(({ moduleId }) => moduleId) });
  }

  onTestModuleEnd(module) {
    const state = module.state();
    if (state === 'passed' || state === 'skipped') write({ passed: module.moduleId });
    else
      write({
        failed: module.moduleId,
        tests: [...module.children.allTests('failed')].map(({ fullName }) => fullName),
      });
  }

  onTestRunEnd(_modules, errors) {
    write({
      ended: true,
      errors: errors.map(({ message, VITEST_TEST_PATH }) => ({ message, file: VITEST_TEST_PATH })),
    });
  }
}

function write(line) {
  appendFileSync(env.TEST_OUTCOME_FILE, `${JSON.stringify(line)}\n`);
}
