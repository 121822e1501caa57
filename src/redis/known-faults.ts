/** A fault that a client can use over the network, and the first version of each branch that has it no more. */
interface KnownFault {
  readonly names: readonly string[];
  readonly can: string;
  readonly redis: readonly string[];
  readonly valkey: readonly string[];
  /** The first branch that has it, where earlier ones have not. */
  readonly since?: string;
}

/**
 * From the release notes of both servers (00-RELEASENOTES of each branch, github.com/redis/redis and
 * github.com/valkey-io/valkey) and the CVE records, as of November 2026. A branch without an
 * entry that is older than the last one with an entry was never fixed: 7.0 of Redis, for example.
 */
const KNOWN_FAULTS: readonly KnownFault[] = [
  {
    names: ['CVE-2024-31449'],
    can: 'a script runs code on its host',
    redis: ['6.2.16', '7.2.6', '7.4.1'],
    valkey: ['7.2.7', '8.0.1'],
  },
  {
    names: ['CVE-2024-46981'],
    can: 'a script runs code on its host',
    redis: ['6.2.17', '7.2.7', '7.4.2'],
    valkey: ['7.2.8', '8.0.2'],
  },
  {
    names: ['CVE-2025-21605'],
    can: 'who has no password fills its memory',
    redis: ['6.2.18', '7.2.8', '7.4.3'],
    valkey: ['7.2.9', '8.0.3', '8.1.1'],
  },
  {
    names: ['CVE-2025-32023', 'CVE-2025-48367'],
    can: 'a client runs code on its host; who has no password keeps others out',
    redis: ['6.2.19', '7.2.10', '7.4.5', '8.0.3'],
    valkey: ['7.2.10', '8.0.4', '8.1.3'],
  },
  {
    names: ['CVE-2025-49844', 'CVE-2025-46817', 'CVE-2025-46818', 'CVE-2025-46819'],
    can: 'a script runs code on its host, or as another user',
    redis: ['6.2.20', '7.2.11', '7.4.6', '8.0.4', '8.2.2'],
    valkey: ['7.2.11', '8.0.6', '8.1.4'],
  },
  {
    names: ['CVE-2026-27623'],
    can: 'who has no password ends it',
    redis: [],
    valkey: ['9.0.3'],
    since: '9.0',
  },
  {
    names: ['CVE-2026-23479'],
    can: 'a client runs code on its host',
    redis: ['7.2.14', '7.4.9', '8.2.6', '8.4.3', '8.6.3'],
    valkey: ['7.2.13', '8.0.9', '8.1.7', '9.0.4', '9.1.0'],
    since: '7.2',
  },
  {
    names: ['CVE-2026-56684'],
    can: 'a client runs code on its host, over TLS',
    redis: [],
    valkey: ['7.2.14', '8.0.10', '8.1.9', '9.0.5', '9.1.1'],
  },
  {
    names: ['CVE-2026-81934'],
    can: 'who has no password runs code on its host, over TLS',
    redis: ['6.2.24', '7.2.16', '7.4.11', '8.2.9', '8.4.6', '8.6.6', '8.8.2', '8.10.1'],
    valkey: [],
  },
];

/** What a server of this version is open to, a line each, by what `INFO` says of it. Unknown and newer ones: nothing. */
export function knownFaultsOf(info: ReadonlyMap<string, string>): string[] {
  const valkey = info.get('valkey_version');
  const version = partsOf(valkey ?? info.get('redis_version') ?? '');
  if (version === undefined) return [];
  const open = KNOWN_FAULTS.filter((fault) =>
    isOpen(version, valkey === undefined ? fault.redis : fault.valkey, fault),
  );
  return open.map(({ names, can }) => `${names.join(', ')}: ${can}`);
}

type Parts = readonly [major: number, minor: number, patch: number];

function isOpen(version: Parts, fixed: readonly string[], { since = '0.0' }: KnownFault): boolean {
  if (compare(version, partsOf(`${since}.0`)) < 0) return false;
  const versions = fixed.map(partsOf);
  const [major, minor] = version;
  const sameBranch = versions.find((one) => one?.[0] === major && one[1] === minor);
  return compare(version, sameBranch ?? versions.at(-1)) < 0;
}

function partsOf(version: string): Parts | undefined {
  const [, major, minor, patch] = /^([0-9]{1,4})\.([0-9]{1,4})\.([0-9]{1,4})/.exec(version) ?? [];
  if (major === undefined || minor === undefined || patch === undefined) return undefined;
  return [Number.parseInt(major, 10), Number.parseInt(minor, 10), Number.parseInt(patch, 10)];
}

/** Below zero for an older version; nothing is older than one that there is not. */
function compare(version: Parts, other: Parts | undefined): number {
  if (other === undefined) return 1;
  const differing = version.map((part, index) => part - (other[index] ?? 0)).find((difference) => difference !== 0);
  return differing ?? 0;
}
