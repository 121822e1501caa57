/** A version of the payment message that is read, and what is its own in it. */
export interface MessageVersion {
  /** Its name, which stands at the end of its namespace. */
  readonly name: string;
  /** Where it is not ISO 20022's for that name. */
  readonly namespace?: string;
  /** The status report of the same release of the standard. */
  readonly statusReport: string;
  /** Elements that other versions do not have, by their path; they change nothing about a payout. */
  readonly own: readonly string[];
}

export const ISO_NAMESPACE = 'urn:iso:std:iso:20022:tech:xsd:';

const CREDITOR_ORGANISATION = 'PmtInf/CdtTrfTxInf/Cdtr/Id/OrgId';
const OF_03 = { statusReport: 'pain.002.001.03', own: [`${CREDITOR_ORGANISATION}/BICOrBEI`] } as const;
const ANY_BIC = `${CREDITOR_ORGANISATION}/AnyBIC`;
const SINCE_09 = [ANY_BIC, `${CREDITOR_ORGANISATION}/LEI`, 'PmtInf/CdtTrfTxInf/PmtId/UETR', 'GrpHdr/InitnSrc'];

/**
 * The one table of differences, as far as they concern a payout (ISO 20022 message archive, pain.001 and pain.002). What
 * else differs stands in elements that are passed over whole: BIC and BICFI of agents, the date of execution with `Dt` or
 * without, addresses and contacts. A status report has the elements that we write in each of its versions. The German
 * pain.001.003.03 (Deutsche Kreditwirtschaft) and the Swiss pain.001.001.03.ch.02 (SIX) only narrow pain.001.001.03.
 */
const VERSIONS: readonly MessageVersion[] = [
  { name: 'pain.001.001.03', ...OF_03 },
  { name: 'pain.001.003.03', ...OF_03 },
  {
    name: 'pain.001.001.03.ch.02',
    namespace: 'http://www.six-interbank-clearing.com/de/pain.001.001.03.ch.02.xsd',
    ...OF_03,
  },
  { name: 'pain.001.001.08', statusReport: 'pain.002.001.08', own: [ANY_BIC] },
  { name: 'pain.001.001.09', statusReport: 'pain.002.001.10', own: SINCE_09 },
  { name: 'pain.001.001.10', statusReport: 'pain.002.001.11', own: SINCE_09 },
  { name: 'pain.001.001.11', statusReport: 'pain.002.001.12', own: SINCE_09 },
];

/** Names of the versions that are read. */
export const VERSION_NAMES: readonly string[] = VERSIONS.map(({ name }) => name);

/** Elements that not every version has. */
export const OWN_ELEMENTS: ReadonlySet<string> = new Set(VERSIONS.flatMap(({ own }) => own));

const BY_NAMESPACE = new Map(VERSIONS.map((one) => [one.namespace ?? `${ISO_NAMESPACE}${one.name}`, one]));

/** The version whose namespace this is; undefined for another one. */
export function versionOf(namespace: string): MessageVersion | undefined {
  return BY_NAMESPACE.get(namespace);
}

/** The version of this name, such as pain.001.001.09; undefined for another one. */
export function versionNamed(name: string): MessageVersion | undefined {
  return VERSIONS.find((version) => name === version.name);
}

/** The name of a payment message as a namespace has it, whichever version that is; undefined for anything else. */
export function messageNameIn(namespace: string): string | undefined {
  return /(?:^|[:/])(pain\.[0-9]{3}\.[0-9]{3}\.[0-9]{2}(?:\.[a-z]{2,3}\.[0-9]{2})?)(?:\.xsd)?$/.exec(namespace)?.[1];
}
