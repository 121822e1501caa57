/** How many connections the web app takes, and how long it waits for what comes over them. */
export interface WebLimits {
  /** Open connections of all people and programs together; each who watches a run holds one (runs/stream-limits.ts). */
  readonly connectionsMax: number;
  /** Of one person; of more, the one over which they asked longest ago gives way. */
  readonly personConnectionsMax: number;
  /** Those over which nobody who has signed in has asked for anything yet. */
  readonly strangersMax: number;
  /** The same from one address, unless it is a proxy of ours. */
  readonly strangersPerAddressMax: number;
  /** How long a stranger has at least, however many there are. */
  readonly strangerMsMin: number;
  readonly handshakeMsMax: number;
  readonly headersMsMax: number;
  /** For a body that is no file of somebody who has signed in. */
  readonly bodyMsMax: number;
  /** For a whole request, a file of somebody who has signed in too. */
  readonly requestMsMax: number;
  /** A file comes at least at this rate. */
  readonly fileBytesMin: number;
  readonly fileBytesWithinMs: number;
  /** Of one key, at one process. */
  readonly keyRequestsPerMinuteMax: number;
}

export const WEB_LIMITS: WebLimits = {
  connectionsMax: 4000,
  personConnectionsMax: 100,
  strangersMax: 1000,
  strangersPerAddressMax: 100,
  strangerMsMin: 3000,
  handshakeMsMax: 10_000,
  headersMsMax: 10_000,
  bodyMsMax: 10_000,
  requestMsMax: 15 * 60_000,
  fileBytesMin: 16 * 1024,
  fileBytesWithinMs: 30_000,
  keyRequestsPerMinuteMax: 600,
};
