import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { type Authority, type Identity, makeAuthority, selfSigned } from '../service/certificates.ts';
import { AUTHORITY_FILE, FRONT_PORT, ownAddress, startFront } from './front.ts';
import { SLOWLY } from './redis-steps.ts';
import type { Rig } from './rig.ts';
import { faultRow } from './row.ts';
import { pausedReason, requestsTo, resumed, stateOf } from './service-steps.ts';

/* TLS before the service, with certificates made by openssl now. */

const EXIT_UNAVAILABLE = 69;

interface Kind {
  readonly code: string;
  readonly make: (authority: Authority, address: string) => Identity;
}

const KINDS: readonly Kind[] = [
  {
    code: 'CERT_HAS_EXPIRED',
    make: (authority, address) => authority.issue(`IP:${address}`, true),
  },
  {
    code: 'ERR_TLS_CERT_ALTNAME_INVALID',
    make: (authority) => authority.issue('DNS:payments.example'),
  },
  {
    code: 'DEPTH_ZERO_SELF_SIGNED_CERT',
    make: (_authority, address) => selfSigned(address),
  },
];

/** Settings for a service behind TLS; the last of them must not switch the check of certificates off. */
function settingsFor(address: string): Record<string, string> {
  return {
    ...SLOWLY.settings,
    PAYRUN_SERVICE_URL: `https://${address}:${FRONT_PORT}`,
    PAYRUN_CA_FILE: AUTHORITY_FILE,
    NODE_TLS_REJECT_UNAUTHORIZED: '0',
  };
}

function ownAuthority({ folder }: Rig): Authority {
  const authority = makeAuthority();
  writeFileSync(join(folder, AUTHORITY_FILE), authority.cert);
  return authority;
}

const ADDRESS = ownAddress();

faultRow({
  ids: ['F47'],
  fault: "the service's certificate has ended, is for another host, or signed by itself; it ends in the middle",
  tries: { short: 1, long: 2 },
  ...SLOWLY,
  settings: settingsFor(ADDRESS),
  async body(rig) {
    const authority = ownAuthority(rig);
    await rig.submit();
    for (const { code, make } of KINDS) {
      const wrong = await startFront(rig, ADDRESS, make(authority, ADDRESS));
      const refused = await rig.launchWorker('one').ended;
      expect(refused).toMatchObject({ code: EXIT_UNAVAILABLE, stderr: expect.stringContaining(code) });
      await wrong.close();
    }
    expect([requestsTo(rig), (await rig.states())['ready']]).toEqual([0, rig.rows]);
    const right = authority.issue(`IP:${ADDRESS}`);
    const first = await startFront(rig, ADDRESS, right);
    await rig.startWorker('one');
    await rig.booked(8);
    await first.close();
    const over = await startFront(rig, ADDRESS, authority.issue(`IP:${ADDRESS}`, true));
    expect(await pausedReason(rig)).toMatch(/^E_CERTIFICATE: .*CERT_HAS_EXPIRED/);
    expect(over.received()).toBe(0);
    await over.close();
    await startFront(rig, ADDRESS, right);
    await resumed(rig);
  },
});

const OLD_ADDRESS = ownAddress();

faultRow({
  ids: ['F47'],
  fault: 'in the middle the service speaks TLS 1.0 only: it is waited for',
  tries: { short: 1, long: 2 },
  ...SLOWLY,
  settings: settingsFor(OLD_ADDRESS),
  async body(rig) {
    const identity = ownAuthority(rig).issue(`IP:${OLD_ADDRESS}`);
    const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1', ciphers: 'DEFAULT@SECLEVEL=0' } as const;
    const good = await startFront(rig, OLD_ADDRESS, identity);
    await rig.submit();
    const worker = await rig.startWorker('one');
    await rig.booked(8);
    await good.close();
    const front = await startFront(rig, OLD_ADDRESS, { ...identity, ...old });
    await worker.said('PROTOCOL_VERSION');
    // What was under way when the other front closed has come by now.
    const before = requestsTo(rig);
    await worker.said('one request at a time tries whether it is back');
    expect(requestsTo(rig)).toBe(before);
    expect(await stateOf(rig)).toMatchObject({ state: 'paying' });
    await front.close();
    await startFront(rig, OLD_ADDRESS, identity);
  },
});
