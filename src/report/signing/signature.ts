import type { ReportHashes } from '../../payout.ts';
import type { SigningKey } from './signing-key.ts';

/** A file and the SHA-256 of its bytes, in lower-case hex. */
interface HashedFile {
  readonly name: string;
  readonly sha256: string;
}

/** What a signature file says, apart from the key and the signature. */
export interface Statement {
  /** By name, in their order; neither holds a line end, and a name holds no blank. */
  readonly facts: Readonly<Record<string, string>>;
  readonly files: readonly HashedFile[];
}

/** A signature file as it was read. Nothing in it is proven before its signature is. */
export interface SignatureFile extends Statement {
  /** Of the key that is said to have signed (`PublicKey.id`). */
  readonly keyId: string;
  /** What is signed: every line before the last. */
  readonly text: string;
  /** In base64. */
  readonly signature: string;
}

const FIRST_LINE = 'payrun signature 1';
const NONE = 'none';
const FACT = /^([a-z][a-z-]*) ([^ ].*)$/;
const HASHED = /^([0-9a-f]{64}) {2}(.+)$/;
const LAST_LINE = /^signature ([A-Za-z0-9+/]{86}==)$/;

/**
 * A signature file, for people, sha256sum and openssl: a first line; a fact a line; the key's id; `SHA256  NAME` for each
 * file; at last `signature` and the Ed25519 signature, in base64, over the bytes of all lines before (docs/verify.md).
 */
export function signatureText({ facts, files }: Statement, key: SigningKey): string {
  const lines = [
    FIRST_LINE,
    ...Object.entries({ ...facts, key: key.id }).map(([name, value]) => `${name} ${value}`),
    ...files.map(({ name, sha256 }) => `${sha256}  ${name}`),
  ];
  const text = `${lines.join('\n')}\n`;
  return `${text}signature ${key.sign(text)}\n`;
}

/** Undefined for what is no signature file. */
export function readSignature(content: string): SignatureFile | undefined {
  const lines = content.split('\n');
  const signature = LAST_LINE.exec(lines.at(-2) ?? '')?.[1];
  if (lines[0] !== FIRST_LINE || lines.at(-1) !== '' || signature === undefined) return undefined;
  const inner = lines.slice(1, -2);
  const files = inner.flatMap((line) => {
    const [, sha256 = '', name] = HASHED.exec(line) ?? [];
    return name === undefined ? [] : [{ name, sha256 }];
  });
  const facts = inner.flatMap((line) => {
    const [, name = '', value] = FACT.exec(line) ?? [];
    return value === undefined ? [] : [[name, value] as const];
  });
  if (files.length + facts.length !== inner.length) return undefined;
  const { key: keyId = '', ...others } = Object.fromEntries(facts);
  return { facts: others, files, keyId, text: `${lines.slice(0, -2).join('\n')}\n`, signature };
}

/** What is signed of a report that was written. */
export interface SignedReport {
  readonly runId: string;
  /** SHA-256 of the payout file. */
  readonly fileSha256: string;
  /** `NUMBER:HASH`; null for an audit log without entries. */
  readonly auditHead: string | null;
  readonly hashes: ReportHashes;
  /** The version before, if there is one. */
  readonly previous: ReportHashes | undefined;
}

/** The statement about a report: its files, the payout file, the audit log's head, and the hashes of the version before. */
export function reportStatement({ runId, fileSha256, auditHead, hashes, previous }: SignedReport): Statement {
  const { version, csv, json } = hashes;
  return {
    facts: {
      of: 'report',
      run: runId,
      version: String(version),
      'payout-file': fileSha256,
      'audit-head': auditHead ?? NONE,
      previous: previousText(previous),
    },
    files: [
      { name: `${runId}.v${version}.csv`, sha256: csv },
      { name: `${runId}.v${version}.json`, sha256: json },
    ],
  };
}

/** A version as the one after it names it: `v1`, the SHA-256 of its CSV and that of its JSON. */
export function previousText(hashes: ReportHashes | undefined): string {
  return hashes === undefined ? NONE : `v${hashes.version} ${hashes.csv} ${hashes.json}`;
}
