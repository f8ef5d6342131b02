/** A device server that takes the settings of its serial port over the network (RFC 2217), played by a real socket. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { SerialPort } from '../../../src/hardware/serial-port.ts';
import { bytes, openPeerBench, type PeerBench } from '../../support/modbus-peer.ts';

const { signal } = new AbortController();
let bench: PeerBench;
let port: SerialPort | undefined;
beforeEach(async () => {
  bench = await openPeerBench();
});
afterEach(async () => {
  await port?.close();
  await bench.close();
});

const ORDER = /fffa2c(0[1-4])((?:ff{2}|(?!ff)..)*?)fff0/g;

/** Confirms each order, with the value that `holds` gives. */
async function server(holds: (order: string, value: string) => string = (_order, value) => value) {
  const orders: string[] = [];
  const plain: string[] = [];
  const at = await bench.tcp((asked, send) => {
    const hex = asked.toString('hex');
    if (hex.includes('fffb2c')) send(bytes('fffd2c fffb01 fffd18'));
    for (const [, order = '', value = ''] of hex.matchAll(ORDER)) {
      orders.push(`${order} ${value}`);
      send(bytes(`fffa2c${(Number.parseInt(order, 16) + 100).toString(16)}${holds(order, value)}fff0`));
    }
    const rest = hex.replace(ORDER, '').replace(/fff[bcde]../g, '');
    if (rest !== '') plain.push(rest);
    if (rest === '3f') send(bytes('41ff'));
    if (rest === '3f') send(bytes('ff42'));
  });
  return { path: `rfc2217://127.0.0.1:${at}`, orders, plain };
}
const open = async (path: string) => {
  port = await bench.ports.serial.open({ port: path, baudRate: 300, dataBits: 7, parity: 'even' }, signal);
  return port;
};

it('gets its settings when it is opened, and others while it is open', async () => {
  const { path, orders } = await server();
  const opened = await open(path);
  expect(orders).toEqual(['01 0000012c', '02 07', '03 03', '04 01']);
  expect(opened.plugged).toBe(true);
  await opened.change?.({ baudRate: 9600, dataBits: 7, parity: 'even' }, signal);
  await opened.change?.({ baudRate: 9600, dataBits: 8, parity: 'none', stopBits: 2 }, signal);
  expect(orders.slice(4)).toEqual(['01 00002580', '02 08', '03 01', '04 02']);
});

it('doubles a byte of 255 in both directions, and refuses options that nobody asked for', async () => {
  const { path, plain } = await server();
  const opened = await open(path);
  const heard: number[] = [];
  opened.onBytes((some) => heard.push(...some));
  await opened.write(Uint8Array.of(1, 0xff, 2), signal);
  await expect.poll(() => plain.join('')).toBe('01ffff02');
  await opened.write(Uint8Array.of(0x3f), signal);
  await expect.poll(() => heard).toEqual([0x41, 0xff, 0x42]);
  expect(Buffer.concat(bench.asked).toString('hex')).toMatch(/fffe01.*fffc18/);
});

it('says which speed it does not take', async () => {
  const { path } = await server((order, value) => (order === '01' ? '0000012c' : value));
  const opened = await open(path);
  await expect(opened.change?.({ baudRate: 9600, dataBits: 7, parity: 'even' }, signal)).rejects.toMatchObject({
    code: 'hardware/serial-failed',
    recovery: 'retry',
    message: expect.stringMatching(/does not take 9600 baud with 7 bits and parity even$/),
  });
});

it('without the option is refused in words', async () => {
  const at = await bench.tcp((_asked, send) => send(bytes('fffe2c')));
  await expect(open(`rfc2217://127.0.0.1:${at}`)).rejects.toMatchObject({
    code: 'hardware/serial-failed',
    message: expect.stringMatching(/does not take settings \(RFC 2217\): .* or write tcp:/),
  });
});

it('gets its settings again when its connection comes back', async () => {
  const sockets: { destroy(): unknown }[] = [];
  const orders: string[] = [];
  const at = await bench.tcp(
    (asked, send) => {
      const hex = asked.toString('hex');
      if (hex.includes('fffb2c')) send(bytes('fffd2c'));
      for (const [, order = '', value = ''] of hex.matchAll(ORDER)) {
        orders.push(order);
        send(bytes(`fffa2c${(Number.parseInt(order, 16) + 100).toString(16)}${value}fff0`));
      }
    },
    { onConnect: (socket) => sockets.push(socket) },
  );
  const opened = await open(`rfc2217://127.0.0.1:${at}`);
  const plugs: boolean[] = [];
  opened.onPlug((plugged) => plugs.push(plugged));
  sockets[0]?.destroy();
  await expect.poll(() => plugs, { timeout: 5_000 }).toEqual([false, true]);
  expect(orders).toHaveLength(8);
});

it('connects anew to a server that did not confirm its settings when its connection came back', async () => {
  const sockets: { destroy(): unknown }[] = [];
  const at = await bench.tcp(
    (asked, send) => {
      const hex = asked.toString('hex');
      if (hex.includes('fffb2c')) send(bytes('fffd2c'));
      for (const [, order = '', value = ''] of hex.matchAll(ORDER)) {
        // The second connection finds a server that is still at another speed.
        const held = sockets.length === 2 && order === '01' ? '00000001' : value;
        send(bytes(`fffa2c${(Number.parseInt(order, 16) + 100).toString(16)}${held}fff0`));
      }
    },
    { onConnect: (socket) => sockets.push(socket) },
  );
  const opened = await open(`rfc2217://127.0.0.1:${at}`);
  const plugs: [boolean, string][] = [];
  opened.onPlug((plugged) => plugs.push([plugged, (opened as { readonly outage?: string }).outage ?? '']));
  sockets[0]?.destroy();
  await expect.poll(() => sockets.length, { timeout: 5_000 }).toBe(3);
  await expect.poll(() => plugs.map(([plugged]) => plugged), { timeout: 5_000 }).toEqual([false, true]);
  expect(plugs[1]?.[1]).toMatch(/does not take 300 baud/);
});
