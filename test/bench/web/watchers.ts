import { Agent, get, type IncomingMessage } from 'node:http';

/*
 * People who look on, each over a connection of their own: `node watchers.js URL COOKIE…`. Says `all are in` once each has
 * seen the run, and what all of them were sent when it is told to stop.
 */

const [url = '', ...cookies] = process.argv.slice(2);
let [events, bytes, refused, seeing] = [0, 0, 0, 0];

function follow(answer: IncomingMessage): void {
  if (answer.statusCode !== 200) {
    refused++;
    process.stderr.write(`${answer.statusCode}\n`);
  }
  let hasSeen = false;
  answer.setEncoding('latin1').on('data', (text: string) => {
    bytes += text.length;
    if (!text.includes('id: ')) return;
    events++;
    if (hasSeen) return;
    hasSeen = true;
    seeing++;
    if (seeing === cookies.length) process.stdout.write('all are in\n');
  });
}

const agent = new Agent({ maxSockets: Number.POSITIVE_INFINITY });
for (const cookie of cookies) {
  get(url, { agent, headers: { cookie, accept: 'text/event-stream' } }, follow).on('error', () => {
    refused++;
  });
}
process.once('SIGTERM', () => {
  process.stdout.write(`${JSON.stringify({ events, bytes, refused })}\n`, () => process.exit(0));
});
