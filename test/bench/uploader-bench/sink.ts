/** A platform reduced to what an upload needs: takes a body, reads it as JSON, counts its values, answers 200. A process of its own. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

let values = 0;

const server = createServer((request, response) => {
  if (request.url === '/count') {
    response.end(String(values));
    values = 0;
    return;
  }
  const pieces: Buffer[] = [];
  request.on('data', (piece: Buffer) => pieces.push(piece));
  request.on('end', () => {
    const body = JSON.parse(Buffer.concat(pieces).toString()) as unknown;
    for (const record of Array.isArray(body) ? body : [body])
      values += Object.keys((record as { values: object }).values).length;
    response.end();
  });
});
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port));
