/** Filters that overlap, at a real broker, which gives a copy of a message for each of them. */
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { LinuxMqtt } from '../../src/hardware/linux-mqtt.ts';
import { systemClock } from '../../src/host/clock.ts';
import { Mosquitto, missingMosquitto } from '../support/mosquitto.ts';

const { signal } = new AbortController();
const missing = missingMosquitto();

describe.skipIf(missing !== undefined)(`filters of one gateway${missing === undefined ? '' : ` (${missing})`}`, () => {
  let broker: Mosquitto;
  let port: LinuxMqtt;

  beforeAll(async () => {
    broker = await Mosquitto.open();
    await broker.start();
    port = new LinuxMqtt({ clock: systemClock });
  });
  afterAll(async () => {
    await port?.close();
    await broker?.remove();
  });

  it('that overlap hear each message once', async () => {
    const settings = {
      name: 'house',
      url: broker.url,
      version: '5',
      keepAliveMs: 30_000,
      maxPacketBytes: 65_536,
    } as const;
    const connection = await port.open(Object.assign({ clientId: 'gateway' }, settings), signal);
    const heard = { narrow: [] as string[], wide: [] as string[] };
    connection.subscribe('e/n', ({ payload }) => void heard.narrow.push(Buffer.from(payload).toString()));
    connection.subscribe('e/#', ({ payload }) => void heard.wide.push(Buffer.from(payload).toString()));
    await vi.waitFor(() => expect(connection.outage).toBeUndefined(), { timeout: 10_000 });
    await pause(100);
    for (const payload of ['1', '2', '3']) await connection.publish({ topic: 'e/n', payload, retain: false }, signal);
    await connection.publish({ topic: 'e/end', payload: 'end', retain: false }, signal);
    await vi.waitFor(() => expect(heard.wide).toContain('end'), { timeout: 10_000 });
    expect(heard).toEqual({ narrow: ['1', '2', '3'], wide: ['1', '2', '3', 'end'] });
  });
});
