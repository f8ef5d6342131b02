/** A line of `lines:` behind a device server that takes its settings (RFC 2217), with two users: a scale that is read and a relay that is told. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { opener } from '../../../src/actuators/serial-write/driver.ts';
import { withLines } from '../../../src/config/models/with-lines.ts';
import { actuatorSchema } from '../../../src/config/schema/actuators.ts';
import { open as openSerialLine } from '../../../src/sensors/serial-line/driver.ts';
import { opensWith } from '../../support/actuator-driver.ts';
import { bytes, openPeerBench, type PeerBench } from '../../support/modbus-peer.ts';
import { sensorConfig, sensorDeps } from '../../support/sensor-bench.ts';

const never = new AbortController().signal;
const ORDER = /fffa2c(0[1-4])((?:ff{2}|(?!ff)..)*?)fff0/g;
const ON = 'a00101a2';

let bench: PeerBench;
beforeEach(async () => {
  bench = await openPeerBench();
});
afterEach(() => bench.close());

/** The server, with both devices on its line; `told` has what the relay got, by connection. */
async function yard() {
  const sockets: { destroy(): unknown }[] = [];
  const orders: string[] = [];
  const told: number[] = [];
  let weight = 0;
  const at = await bench.tcp(
    (asked, send) => {
      const hex = asked.toString('hex');
      if (hex.includes('fffb2c')) send(bytes('fffd2c'));
      for (const [, order = '', value = ''] of hex.matchAll(ORDER)) {
        orders.push(`${order} ${value}`);
        send(bytes(`fffa2c${(Number.parseInt(order, 16) + 100).toString(16)}${value}fff0`));
      }
      const rest = hex.replace(ORDER, '').replace(/fff[bcde]../g, '');
      if (rest === Buffer.from('S\r\n').toString('hex')) {
        weight += 1;
        send(Buffer.from(`S S ${weight} g\r\n`));
      } else if (rest === ON) {
        told.push(sockets.length);
        send(Buffer.from('OK\r\n'));
      }
    },
    { onConnect: (socket) => sockets.push(socket) },
  );
  const { root, faults } = withLines({
    lines: [{ name: 'yard', port: `rfc2217://127.0.0.1:${at}`, baudRate: 19_200, parity: 'even' }],
    sensors: [
      {
        name: 'scale',
        kind: 'serial-line',
        on: 'yard',
        request: 'S\r\n',
        format: 'regex',
        pattern: '^S S (?<weight>[0-9]+) g',
      },
    ],
    actuators: [
      { name: 'relay', kind: 'serial-write', on: 'yard', sendHex: { on: ON, off: 'a00100a1' }, expect: '^OK' },
    ],
  }) as { readonly root: Readonly<Record<string, readonly never[]>>; readonly faults: unknown };
  expect(faults).toEqual([]);
  const { ports, folder } = bench;
  const [scale, relay] = await Promise.all([
    openSerialLine(sensorConfig<'serial-line'>(root.sensors?.[0] as never), sensorDeps({ ports, folder }), never),
    opensWith(opener)(actuatorSchema.parse(root.actuators?.[0]) as never, ports),
  ]);
  const returns: number[] = [];
  relay.onReturn?.(() => returns.push(sockets.length));
  return { scale, relay, sockets, orders, told, returns, close: () => Promise.all([scale.close(), relay.close()]) };
}

const weightOf = (read: Promise<readonly { readonly value: unknown }[]>) =>
  read.then((readings) => readings.map(({ value }) => value));

it('is one connection with one set of settings, on which both take turns and hear what is theirs', async () => {
  const line = await yard();
  const both = [1, 2, 3].map((n) => Promise.all([weightOf(line.scale.read(never)), line.relay.write(n > 0, never)]));
  expect((await Promise.all(both)).map(([weight]) => weight)).toEqual([[1], [2], [3]]);
  expect([line.sockets.length, line.orders]).toEqual([1, ['01 00004b00', '02 08', '03 03', '04 01']]);
  expect(line.told).toEqual([1, 1, 1]);
  await line.close();
});

it('has its settings again after a reconnection, and serves both', async () => {
  const line = await yard();
  await Promise.all([line.scale.read(never), line.relay.write(true, never)]);
  line.sockets[0]?.destroy();
  await expect.poll(() => line.orders.length, { timeout: 5_000 }).toBe(8);
  expect(line.orders.slice(4)).toEqual(line.orders.slice(0, 4));
  // The last confirmation is on its way.
  await expect.poll(() => line.relay.write(true, never).then(() => 'told', String), { timeout: 5_000 }).toBe('told');
  expect(await weightOf(line.scale.read(never))).toEqual([2]);
  expect([line.sockets.length, line.told, line.returns]).toEqual([2, [1, 2], []]);
  await line.close();
});

it('stays open for the one when the other closes', async () => {
  const line = await yard();
  await line.relay.close();
  expect(await weightOf(line.scale.read(never))).toEqual([1]);
  expect(line.sockets).toHaveLength(1);
  await line.close();
});
