import { readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { headText } from '../../audit/entry.ts';
import { type AuditPart, readAuditPart } from '../../audit/verify-part.ts';
import { codeOf, Refusal } from '../../refusal.ts';
import { type PublicKey, readPublicKeys } from '../../report/signing/signing-key.ts';
import { type Verified, verifySigned } from '../../report/signing/verify.ts';
import { command } from '../command.ts';
import { EXIT, type ExitCode } from '../exit-code.ts';
import { print, printJson, safeText, say } from '../print.ts';

/** `payrun verify`: signed reports on any machine. Reads the files and the public keys: no settings, no Redis, no service. */
export const verifyCommand = command(
  'verify',
  {
    takes: { '<path>': 'a folder, or one file with its signature beside it' },
    options: {
      key: [
        '<file...>',
        'public keys of who signed, as "payrun key sign-show" prints them',
        z.array(z.string().min(1, 'must name a file')),
      ],
      json: 'print the verdict as JSON',
    },
    help:
      'It needs no settings, no Redis and no service, and exits 1 when anything is not proven.' +
      '\ndocs/verify.md shows the same with openssl and sha256sum alone.',
    examples: [
      'payrun verify reports --key payrun.pub',
      'payrun verify 20260131-k3f9xq.v2.csv --key payrun.pub former.pub',
    ],
  },
  async ({ path, key, json }) => {
    const keys = (await Promise.all(key.map(keysIn))).flat();
    return tell(await verified(path, keys), { path, json });
  },
);

async function keysIn(file: string): Promise<readonly PublicKey[]> {
  const keys = readPublicKeys(await contentOf(file));
  if (keys.length > 0) return keys;
  throw new Refusal(
    `${safeText(file)} holds no Ed25519 public key.`,
    'Whoever runs payrun has it from "payrun key sign-show", and the settings page shows it.',
  );
}

async function contentOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (cause) {
    throw refuseUnread(file, cause);
  }
}

async function verified(path: string, keys: readonly PublicKey[]): Promise<Verified> {
  try {
    const signed = await verifySigned(path, keys);
    const isFolder = (await stat(path)).isDirectory();
    return {
      ...signed,
      findings: [...signed.findings, ...(await auditFindings(isFolder ? path : dirname(path), signed))],
    };
  } catch (cause) {
    throw refuseUnread(path, cause);
  }
}

/** Whether each signed part of the audit log is a chain that ends where its signature says, and has the heads of the reports. */
async function auditFindings(folder: string, { proven, signed }: Verified): Promise<string[]> {
  const findings: string[] = [];
  const parts = signed.filter(({ facts, files }) => facts['of'] === 'audit' && proven.includes(files[0]?.name ?? ''));
  for (const { facts, files } of parts) {
    const name = files[0]?.name ?? '';
    const part = await readAuditPart(join(folder, name));
    if (part.fault !== undefined) findings.push(`${name}: ${part.fault}`);
    else if (part.head === undefined || headText(part.head) !== facts['audit-head'])
      findings.push(`${name}: it does not end at the entry that was signed`);
    findings.push(...headsMissing(part, signed).map((report) => `${name}: it lacks the head that ${report} names`));
  }
  return findings;
}

/** Reports that name a head which the part has passed, and does not have. */
function headsMissing(part: AuditPart, signed: Verified['signed']): string[] {
  return signed.flatMap(({ facts }) => {
    const { of, run, version, 'audit-head': head = 'none' } = facts;
    const isLater = Number.parseInt(head, 10) > (part.head?.number ?? 0);
    return of !== 'report' || head === 'none' || isLater || part.has(head) ? [] : [`${run}.v${version}.sig`];
  });
}

function refuseUnread(path: string, cause: unknown): Refusal {
  return new Refusal(
    `${safeText(path)} cannot be read (${codeOf(cause) ?? 'error'}).`,
    'Name the folder with the reports, or one of them, and files with public keys.',
    { cause },
  );
}

function tell({ proven, findings, notes }: Verified, { path, json }: { path: string; json: boolean }): ExitCode {
  const holds = findings.length === 0 && proven.length > 0;
  if (json) printJson({ holds, proven, findings, notes });
  else {
    print(safeText(`${holds ? 'holds' : 'DOES NOT HOLD'}: ${provenText(proven, path)}`));
    for (const finding of findings) print(safeText(`  ${finding}`));
    for (const note of notes) say(safeText(note));
  }
  return holds ? EXIT.ok : EXIT.defect;
}

const SHOWN_MAX = 6;

function provenText(proven: readonly string[], path: string): string {
  if (proven.length === 0) return `nothing in ${path} is proven`;
  const shown = proven.slice(0, SHOWN_MAX).join(', ');
  const more = proven.length > SHOWN_MAX ? ` and ${proven.length - SHOWN_MAX} more` : '';
  return `${shown}${more} ${proven.length === 1 ? 'is' : 'are'} what was signed`;
}
