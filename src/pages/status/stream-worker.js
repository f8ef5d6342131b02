/**
 * One stream for all pages of a browser: it opens six connections to a host at most, and a stream for each of twenty pages would leave none for
 * anything else. A page that comes later gets what the others have seen.
 */
import { openStream } from './stream.js';

const MAX_LINES = 200;
const ports = new Set();
let stream;
let status;
/** Newest lines of the agent's run, from number `first` on. */
let log;

function post(message) {
  if (message.kind === 'status') status = message;
  if (message.kind === 'log') log = withLines(JSON.parse(message.data));
  if (message.kind === 'lost') status = undefined;
  for (const port of ports) port.postMessage(message);
}

function withLines(more) {
  const isNext = log?.run === more.run && more.first >= log.first && more.first <= log.first + log.lines.length;
  const lines = isNext ? [...log.lines.slice(0, more.first - log.first), ...more.lines] : more.lines;
  const first = isNext ? log.first : more.first;
  const over = Math.max(0, lines.length - MAX_LINES);
  return { run: more.run, first: first + over, lines: lines.slice(over) };
}

self.onconnect = ({ ports: [port] }) => {
  ports.add(port);
  port.onmessage = ({ data }) => {
    if (data === 'again') stream?.again();
    if (data === 'bye') {
      ports.delete(port);
      if (ports.size > 0) return;
      stream?.close();
      stream = undefined;
      status = undefined;
      log = undefined;
    }
  };
  if (stream === undefined) stream = openStream(post);
  else if (status !== undefined) {
    port.postMessage(status);
    if (log !== undefined) port.postMessage({ kind: 'log', data: JSON.stringify(log) });
  } else stream.again();
};
