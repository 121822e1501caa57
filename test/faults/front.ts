import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import type { Rig } from './rig.ts';

/*
 * What stands between a name and the service: an address of its own in the loopback network, TLS, and what a process
 * takes the name, or the time, to be.
 */

/** The same in all addresses of fronts, so that a row can name its own before anything listens there. */
export const FRONT_PORT = 8443;
/** The authority that signed a front's certificate, in the folder of the rig: `PAYRUN_CA_FILE`. */
export const AUTHORITY_FILE = 'authority.pem';

/** One of 127.0.0.0/8 that no other row has. */
export function ownAddress(): string {
  return `127.${randomInt(1, 255)}.${randomInt(255)}.${randomInt(1, 255)}`;
}

interface Front {
  /** How many bytes clients have sent through it. */
  received(): number;
  /** Ends its connections and listens no more. */
  close(): Promise<void>;
}

/** By their addresses: some stand until the next one, for payrun speaks to them as long as its row lasts. */
const fronts = new Map<string, Front>();

/**
 * Passes connections to the address on to the service, out of TLS where a key and a certificate are given; in the place of
 * whatever stood there.
 */
export async function startFront(rig: Rig, address: string, tls?: TlsOptions): Promise<Front> {
  await fronts.get(address)?.close();
  const { port } = new URL(rig.service.url('test'));
  const sockets = new Set<Socket>();
  let received = 0;
  const pass = (client: Socket): void => {
    client.on('data', ({ length }) => {
      received += length;
    });
    const service = connect(Number.parseInt(port, 10), '127.0.0.1');
    for (const [one, other] of [
      [client, service],
      [service, client],
    ] as const) {
      sockets.add(one);
      one.pipe(other);
      one.on('error', () => other.destroy());
      one.on('close', () => {
        sockets.delete(one);
        other.destroy();
      });
    }
  };
  const server: Server = tls === undefined ? createServer(pass) : createTlsServer(tls, pass);
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
  });
  server.listen(FRONT_PORT, address).unref();
  await once(server, 'listening');
  const front: Front = {
    received: () => received,
    async close() {
      fronts.delete(address);
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  fronts.set(address, front);
  return front;
}

/** The setting under which a process runs some code before its own. */
function before(code: string): { NODE_OPTIONS: string } {
  return { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(code)}` };
}

const ANSWER_FILE = 'name-answer';

/** Every name is what `answerNames` said last: an address, or the code of a failure. */
export const NAMES_FROM_FILE = before(`
  import dns from 'node:dns';
  import { readFileSync } from 'node:fs';
  import { syncBuiltinESMExports } from 'node:module';
  dns.lookup = (name, options, done) => {
    const answer = readFileSync('${ANSWER_FILE}', 'utf8');
    if (answer.startsWith('E')) process.nextTick(done, Object.assign(new Error(answer), { code: answer }));
    else if (options.all) process.nextTick(done, null, [{ address: answer, family: 4 }]);
    else process.nextTick(done, null, answer, 4);
  };
  syncBuiltinESMExports();
`);

export function answerNames({ folder }: Rig, answer: string): void {
  writeFileSync(join(folder, ANSWER_FILE), answer);
}

/** The wall clock of a process jumps a day ahead, and back to a day behind, every second. */
export const JUMPING_CLOCK = before(`
  const { now } = Date;
  const day = 24 * 60 * 60 * 1000;
  const jumping = () => now() + (Math.floor(now() / 1000) % 2 === 0 ? day : -day);
  globalThis.Date = class extends Date {
    constructor(...of) {
      super(...(of.length === 0 ? [jumping()] : of));
    }
    static now() {
      return jumping();
    }
  };
`);
