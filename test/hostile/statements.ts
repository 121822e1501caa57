import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DEFAULT_LIMITS } from '../../src/intake/limits.ts';
import { readStatement } from '../../src/intake/statement/read-statement.ts';
import { readStatementTemplate } from '../../src/intake/statement/template.ts';
import { Refusal } from '../../src/refusal.ts';
import { camtXml } from '../intake/camt-message.ts';
import type { Budget } from './budget.ts';
import { BUDGET, limitsOf } from './files.ts';

/** A statement that is made to take memory or time, and what is said of it. */
interface HostileStatement {
  readonly what: string;
  readonly make: () => Buffer;
  readonly comesTo: RegExp;
  readonly budget: Budget;
}

const END = '</Ntry>';

/** A sound statement of one entry, with more before the end of it. */
function withMore(more: string): Buffer {
  return Buffer.from(camtXml([{ amount: '1.00' }]).replace(END, more + END));
}

function numbered(count: number, xml: (at: number) => string): string {
  return Array.from({ length: count }, (_, at) => xml(at)).join('');
}

export const HOSTILE_STATEMENTS: readonly HostileStatement[] = [
  {
    what: 'a billion laughs',
    make: () => Buffer.from(`<!DOCTYPE x [${numbered(9, (at) => `<!ENTITY a${at} "${`&a${at - 1};`.repeat(10)}">`)}]>`),
    comesTo: /^refused: .*document type declaration/,
    budget: BUDGET,
  },
  { what: 'deep nesting', make: () => withMore('<X>'.repeat(1_000_000)), comesTo: /^refused: .*deep/, budget: BUDGET },
  {
    what: 'an id of ten million characters',
    make: () => withMore(`<AcctSvcrRef>${'x'.repeat(10_000_000)}</AcctSvcrRef>`),
    comesTo: /^refused: .*too long/,
    budget: BUDGET,
  },
  {
    what: '400,000 amounts in elements of their own, none of which is read',
    make: () => withMore(numbered(400_000, (at) => `<X${at}><Amt Ccy="${'U'.repeat(60)}"/></X${at}>`)),
    comesTo: /^1 movements$/,
    budget: BUDGET,
  },
  {
    what: '100,000 transactions that say nothing',
    make: () => withMore(`<NtryDtls>${'<TxDtls/>'.repeat(100_000)}</NtryDtls>`),
    comesTo: /^(?:100000|100001) movements$/,
    budget: BUDGET,
  },
];

/** What reading it came to, in words. */
export async function readHostile({ budget }: HostileStatement, bytes: Buffer): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'payrun-hostile-'));
  try {
    const path = join(folder, 'hostile.xml');
    writeFileSync(path, bytes);
    const limits = { ...DEFAULT_LIMITS, ...limitsOf(budget) };
    const { movements } = await readStatement(path, { template: await readStatementTemplate(undefined), limits });
    return `${movements.length} movements`;
  } catch (error) {
    if (error instanceof Refusal) return `refused: ${error.message}`;
    throw error;
  } finally {
    rmSync(folder, { recursive: true });
  }
}
