import { existsSync, writeFileSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { Writable } from 'node:stream';
import { loadSettings, readConfig, settingProblem } from '../../config/config.ts';
import { ENV_FILE_DEFAULT, envFileText } from '../../config/env-file.ts';
import { Refusal } from '../../refusal.ts';
import { command } from '../command.ts';
import { EXIT } from '../exit-code.ts';
import { say, shellWord } from '../print.ts';
import { diagnose } from './doctor.ts';

const MODE = 0o600;
const DATA_DIR_DEFAULT = 'payrun-data';

interface Question {
  readonly name: string;
  readonly words: string;
  readonly usual?: string;
  readonly isSecret?: boolean;
}

const QUESTIONS: readonly Question[] = [
  { name: 'PAYRUN_SERVICE_URL', words: 'Address of the payments service' },
  { name: 'PAYRUN_ENVIRONMENT', words: 'Environment, test or prod', usual: 'test' },
  { name: 'PAYRUN_TENANT_ID', words: 'Tenant' },
  { name: 'PAYRUN_CLIENT_ID', words: 'Client id' },
  { name: 'PAYRUN_CLIENT_SECRET', words: 'Client secret (not shown)', isSecret: true },
  { name: 'PAYRUN_DATA_DIR', words: 'Data directory, on a disk that stays', usual: resolve(DATA_DIR_DEFAULT) },
];
const CONFIRM_PROD: Question = {
  name: 'PAYRUN_CONFIRM_PROD',
  words: 'This will pay real money. The tenant again, to confirm it',
};

/** `payrun init`: asks for the settings of the service, writes them into a file of mode 600, and runs doctor on them. */
export const initCommand = command(
  'init',
  {
    takes: { '[file]': `the file, which is not there yet (default: "${ENV_FILE_DEFAULT}")` },
    help: 'It asks on a terminal, or reads one answer a line.',
    examples: ['payrun init', 'payrun init /etc/payrun/payrun.env'],
  },
  async ({ file = ENV_FILE_DEFAULT }) => {
    await writeEnvFile(file);
    loadSettings(file);
    const code = await diagnose({ json: false });
    const option = file === ENV_FILE_DEFAULT ? '' : `--env-file ${shellWord(file)} `;
    say(
      code === EXIT.ok
        ? `Pay a payout file: payrun ${option}run FILE`
        : `Once it is fixed, look again: payrun ${option}doctor`,
    );
    return code;
  },
);

async function writeEnvFile(path: string): Promise<void> {
  if (existsSync(path)) {
    throw new Refusal(
      `${path} is there already; it stays as it is.`,
      'Edit it, remove it, or name another file: payrun init FILE.',
    );
  }
  const answers = await askAll();
  requireRight(answers);
  writeFileSync(path, envFileText(answers), { mode: MODE, flag: 'wx' });
  say(`Written: ${path}, for you alone to read.`);
}

/** What came from a file is right or wrong as a whole. */
function requireRight(answers: Answers): void {
  try {
    readConfig(answers);
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
    throw new Refusal(`${error.message}\nNothing was written.`, 'Start "payrun init" again.', { cause: error });
  }
}

async function askAll(): Promise<Record<string, string>> {
  const desk = openDesk();
  try {
    const answers: Record<string, string> = {};
    const ask = async (question: Question): Promise<void> => {
      answers[question.name] = await askRight(desk, question, answers);
    };
    for (const question of QUESTIONS) await ask(question);
    if (answers['PAYRUN_ENVIRONMENT'] === 'prod') await ask(CONFIRM_PROD);
    return answers;
  } finally {
    desk.close();
  }
}

type Answers = Readonly<Record<string, string>>;

/** On a terminal a wrong answer is asked for again; answers from a file are checked together. */
async function askRight(desk: Desk, question: Question, before: Answers): Promise<string> {
  for (;;) {
    const answer = await desk.ask(question);
    const problem = problemOf(question.name, answer, before);
    if (problem === undefined || !process.stdin.isTTY) return answer;
    say(`${question.name}: ${problem}.`);
  }
}

function problemOf(name: string, answer: string, before: Answers): string | undefined {
  if (name === CONFIRM_PROD.name && answer !== before['PAYRUN_TENANT_ID']) return 'is not the tenant';
  if (answer === '') return 'is needed';
  if (name === 'PAYRUN_DATA_DIR' && !isAbsolute(answer)) return 'must be an absolute path';
  return settingProblem(name, answer);
}

interface Desk {
  ask(question: Question): Promise<string>;
  close(): void;
}

/** Asks on standard error and reads from standard input; a secret is not echoed on a terminal. */
function openDesk(): Desk {
  let isHidden = false;
  const output = new Writable({
    write(chunk: Buffer, _encoding, written) {
      if (!isHidden) process.stderr.write(chunk);
      written();
    },
  });
  const terminal = process.stdin.isTTY;
  const desk = createInterface({ input: process.stdin, output, terminal });
  desk.on('SIGINT', () => desk.close());
  const lines = desk[Symbol.asyncIterator]();
  return {
    async ask({ words, usual, isSecret = false }) {
      process.stderr.write(`${words}${usual === undefined ? '' : ` [${usual}]`}: `);
      isHidden = isSecret;
      const line = await lines.next();
      if (isHidden || !terminal) process.stderr.write('\n');
      isHidden = false;
      if (line.done === true) throw refuseEnd();
      const answer = line.value.trim();
      return answer === '' ? (usual ?? '') : answer;
    },
    close: () => desk.close(),
  };
}

function refuseEnd(): Refusal {
  return new Refusal('The answers ended early; nothing was written.', 'Start "payrun init" again.', {
    kind: 'interrupted',
  });
}
