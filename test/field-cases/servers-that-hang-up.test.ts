/** Servers that accept a connection, may say why they cannot serve it, and hang up: how often they are asked again, and what is told of them. */
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { NetworkSerialPort } from '../../src/hardware/network-serial.ts';
import { until } from '../support/board-bench.ts';
import { FakeClock } from '../support/fake-clock.ts';

const { signal } = new AbortController();
let server: Server | undefined;
let port: NetworkSerialPort | undefined;
const clock = new FakeClock();

afterEach(async () => {
  await port?.close();
  server?.close();
});

async function open(serve: (socket: Socket) => void): Promise<NetworkSerialPort> {
  const listening = createServer((socket) => serve(socket.on('error', () => {})));
  server = listening;
  await new Promise<void>((resolve) => listening.listen(0, '127.0.0.1', resolve));
  const path = `tcp://127.0.0.1:${(listening.address() as AddressInfo).port}`;
  port = await NetworkSerialPort.open(path, clock, signal);
  return port;
}

it.each([
  ['Port already in use\r\n', 'has no connection: the server hung up: Port already in use'],
  [
    '/dev/ttyS7: No such file\r\nor directory\r\n',
    'has no connection: the server hung up: /dev/ttyS7: No such file or directory',
  ],
  ['', 'has no connection: the server hung up'],
  ['\u0000\u00ff\u0003', 'has no connection: the server hung up'],
])('are asked less and less often, and %j is told as the fault', async (said, outage) => {
  let connections = 0;
  const line = await open((socket) => {
    connections += 1;
    socket.end(Buffer.from(said, 'latin1'));
  });
  for (let waitMs = 250; waitMs <= 4_000; waitMs *= 2) {
    await until('the hang-up', () => !line.plugged);
    const before = connections;
    // A tenth of the bound at least: the first waits end at once, the last do not.
    if (waitMs === 4_000) {
      await clock.advance(300);
      expect(connections).toBe(before);
    }
    await clock.advance(waitMs);
    await until('a connection', () => connections > before);
  }
  await until('the hang-up', () => !line.plugged);
  expect(line.outage).toBe(outage);
  await expect(line.write(Uint8Array.of(1), signal)).rejects.toMatchObject({ message: `${line.path} ${outage}` });
});

it('are forgotten once a connection has lasted', async () => {
  let hangsUp = true;
  const sockets = new Set<Socket>();
  const line = await open((socket) => {
    sockets.add(socket);
    if (hangsUp) socket.end('busy\r\n');
  });
  await until('the hang-up', () => !line.plugged);
  hangsUp = false;
  await clock.advance(250);
  await until('a connection', () => line.plugged);
  expect(line.outage).toMatch(/busy/);
  await clock.advance(5_000);
  expect(line.outage).toBeUndefined();
  for (const socket of sockets) socket.destroy();
});
