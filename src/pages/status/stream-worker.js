/**
 * One stream for all pages of a browser: it opens six connections to a host at most, and a stream for each of twenty pages would leave none for
 * anything else. A page that comes later gets what the others have seen.
 */
import { openStream } from './stream.js';

const MAX_LINES = 200;
const ports = new Set();
let stream;
let status;
let lines = [];

function post(message) {
  if (message.kind === 'status') status = message;
  if (message.kind === 'log') lines = [...lines, ...JSON.parse(message.data)].slice(-MAX_LINES);
  if (message.kind === 'lost') {
    status = undefined;
    lines = [];
  }
  for (const port of ports) port.postMessage(message);
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
      lines = [];
    }
  };
  if (stream === undefined) stream = openStream(post);
  else if (status !== undefined) {
    port.postMessage(status);
    port.postMessage({ kind: 'log', data: JSON.stringify(lines) });
  } else stream.again();
};
