/** Connections to an MQTT broker on real sockets: what is acknowledged, when, and in which order. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { LinuxMqtt } from '../../../src/hardware/linux-mqtt.ts';
import type { MqttBrokerSettings, MqttMessage } from '../../../src/hardware/mqtt-port.ts';
import { type Clock, systemClock } from '../../../src/host/clock.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { FakeBroker } from '../../support/mqtt-broker.ts';

const { signal } = new AbortController();
const clean: (() => unknown)[] = [];
afterEach(async () => {
  for (const undo of clean.splice(0)) await undo();
});

async function given(more: Partial<MqttBrokerSettings> = {}, clock: Clock = systemClock) {
  const broker = await FakeBroker.open();
  const port = new LinuxMqtt({ clock });
  clean.push(
    () => port.close(),
    () => broker.close(),
  );
  const settings: MqttBrokerSettings = {
    name: 'house',
    url: broker.url,
    version: '5',
    clientId: 'gateway',
    keepAliveMs: 30_000,
    maxPacketBytes: 262_144,
    ...more,
  };
  const connection = await port.open(settings, signal);
  return { broker, port, settings, connection };
}

const until = (what: () => void): Promise<void> => vi.waitFor(what, { timeout: 4_000, interval: 5 });

describe.each(['5', '3.1.1'] as const)('a connection to a broker, MQTT %s', (version) => {
  it('acknowledges messages in their order, each once it is kept', async () => {
    const { broker, connection } = await given({ version });
    const keep: (() => void)[] = [];
    connection.subscribe('a/+', () => new Promise<void>((resolve) => keep.push(resolve)));
    await until(() => expect(connection.outage).toBeUndefined());
    for (const id of [1, 2, 3, 4]) broker.publish('a/b', String(id), { id });
    await until(() => expect(keep).toHaveLength(4));
    keep[1]?.();
    keep[2]?.();
    await pause(50);
    expect(broker.acknowledged).toEqual([]);
    keep[0]?.();
    await until(() => expect(broker.acknowledged).toEqual([1, 2, 3]));
  });

  it('takes messages at once that nobody keeps', async () => {
    const { broker, connection } = await given({ version });
    connection.subscribe('a/#', () => {});
    await until(() => expect(connection.outage).toBeUndefined());
    broker.publish('a/b/c', '1', { id: 7 });
    await until(() => expect(broker.acknowledged).toEqual([7]));
  });
});

describe('a connection to a broker', () => {
  it('begins a session that stays, with QoS 1', async () => {
    const { broker, connection } = await given();
    connection.subscribe('a', () => {});
    await until(() => expect(broker.packets.some(({ type }) => type === 'subscribe')).toBe(true));
    const connect = broker.packets.find(({ type }) => type === 'connect')?.body;
    // Behind the protocol's name and version: no user, no password, no will, and no clean start.
    expect(connect?.[7]).toBe(0);
    expect(connect?.toString('latin1')).toContain('gateway');
    const subscribe = broker.packets.find(({ type }) => type === 'subscribe')?.body;
    expect((subscribe?.at(-1) ?? 0) & 3).toBe(1);
  });

  it('reads no further while too much waits, and loses nothing', async () => {
    const { broker, connection } = await given();
    const heard: string[] = [];
    const keep: (() => void)[] = [];
    connection.subscribe('a', ({ payload }) => {
      heard.push(Buffer.from(payload).toString());
      return new Promise<void>((resolve) => keep.push(resolve));
    });
    await until(() => expect(connection.outage).toBeUndefined());
    const ids = Array.from({ length: 1_500 }, (_, at) => at + 1);
    for (const id of ids) broker.publish('a', String(id), { id });
    await until(() => expect(heard).toHaveLength(1_000));
    await pause(100);
    expect(heard).toHaveLength(1_000);
    while (broker.acknowledged.length < ids.length) {
      for (const done of keep.splice(0)) done();
      await pause(1);
    }
    expect(heard).toEqual(ids.map(String));
    expect(broker.acknowledged).toEqual(ids);
  });

  it('counts bytes, too', async () => {
    const { broker, connection } = await given();
    let heard = 0;
    connection.subscribe('a', () => {
      heard += 1;
      return new Promise<void>(() => {});
    });
    await until(() => expect(connection.outage).toBeUndefined());
    for (let id = 1; id <= 40; id += 1) broker.publish('a', 'x'.repeat(200_000), { id });
    await until(() => expect(heard).toBe(20));
    await pause(100);
    expect(heard).toBe(20);
  });

  it('has a message that was not kept sent again, and acknowledges none behind it', async () => {
    const { broker, connection } = await given();
    let heard = 0;
    connection.subscribe('a', async () => {
      heard += 1;
      if (heard === 1) throw new Error('the disk is full');
    });
    await until(() => expect(connection.outage).toBeUndefined());
    broker.publish('a', '1', { id: 1 });
    broker.publish('a', '2', { id: 2 });
    await until(() => expect(broker.connections).toBe(2));
    expect(broker.acknowledged).toEqual([]);
  });

  it('holds the acknowledgement of a repetition until its first copy is kept', async () => {
    const { broker, connection } = await given();
    const keep: (() => void)[] = [];
    let heard = 0;
    connection.subscribe('a', () => {
      heard += 1;
      return heard === 1 ? new Promise<void>((resolve) => keep.push(resolve)) : undefined;
    });
    await until(() => expect(connection.outage).toBeUndefined());
    broker.publish('a', '1', { id: 1 });
    await until(() => expect(heard).toBe(1));
    broker.hangUp();
    await until(() => expect(broker.packets.filter(({ type }) => type === 'subscribe')).toHaveLength(2));
    broker.publish('a', '1', { id: 1 });
    await until(() => expect(heard).toBe(2));
    await pause(50);
    expect(broker.acknowledged).toEqual([]);
    keep[0]?.();
    await until(() => expect(broker.acknowledged).toEqual([1]));
  });

  it('keeps what comes before its sensor has opened', async () => {
    const { broker, connection } = await given();
    connection.subscribe('a', () => {});
    await until(() => expect(connection.outage).toBeUndefined());
    broker.publish('late', '1', { id: 1 });
    await pause(50);
    expect(broker.acknowledged).toEqual([]);
    const heard: MqttMessage[] = [];
    connection.subscribe('late', (message) => void heard.push(message));
    await until(() => expect(broker.acknowledged).toEqual([1]));
    expect(heard).toHaveLength(1);
  });

  it('keeps a filter that is listened to again, however often its first listener was taken out', async () => {
    const clock = new FakeClock();
    const { broker, connection } = await given({}, clock);
    await until(async () => {
      await clock.advance(500);
      expect(connection.outage).toBeUndefined();
    });
    const stop = connection.subscribe('a', () => {});
    stop();
    stop();
    const heard: MqttMessage[] = [];
    connection.subscribe('a', (message) => void heard.push(message));
    await clock.advance(130_000);
    broker.publish('a', '1', { id: 1 });
    await until(() => expect(heard).toHaveLength(1));
    expect(broker.packets.some(({ type }) => type === 'unsubscribe')).toBe(false);
  });

  it('is opened with other settings once all others have closed', async () => {
    const { broker, port, settings, connection } = await given({ password: 'old', user: 'agent' });
    await until(() => expect(connection.outage).toBeUndefined());
    const opening = port.open({ ...settings, password: 'new' }, signal);
    await connection.close();
    const other = await opening;
    await until(() => expect(other.outage).toBeUndefined());
    expect(broker.packets.map(({ type }) => type)).toEqual(['connect', 'disconnect', 'connect']);
  });

  it('is shared by all who name the broker, until the last has closed', async () => {
    const { broker, port, settings, connection } = await given();
    const other = await port.open(settings, signal);
    await expect(port.open({ ...settings, user: 'another' }, signal)).rejects.toMatchObject({
      code: 'hardware/mqtt-busy',
    });
    await until(() => expect(other.outage).toBeUndefined());
    await connection.close();
    expect(broker.connections).toBe(1);
    expect(broker.packets.some(({ type }) => type === 'disconnect')).toBe(false);
    await other.close();
    await until(() => expect(broker.packets.some(({ type }) => type === 'disconnect')).toBe(true));
  });

  it('publishes with an answer, and says why it cannot', async () => {
    const { broker, connection } = await given();
    await expect(connection.publish({ topic: 'set', payload: 'on', retain: false }, signal)).rejects.toThrow(
      /is not connected yet/,
    );
    await until(() => expect(connection.outage).toBeUndefined());
    await connection.publish({ topic: 'set', payload: 'on', retain: false }, signal);
    expect(broker.packets.some(({ type }) => type === 'publish')).toBe(true);
  });

  it('gives up with the connection what is not acknowledged, and never sends it again', async () => {
    const { broker, connection } = await given();
    await until(() => expect(connection.outage).toBeUndefined());
    broker.acknowledges = false;
    const sent = connection.publish({ topic: 'set', payload: 'on', retain: false }, signal);
    await until(() => expect(broker.packets.filter(({ type }) => type === 'publish')).toHaveLength(1));
    broker.acknowledges = true;
    broker.hangUp();
    await expect(sent).rejects.toThrow(/hung up before it acknowledged/);
    await expect(connection.publish({ topic: 'set', payload: 'on', retain: false, qos: 0 }, signal)).rejects.toThrow();
    await until(() => expect(broker.connections).toBe(2));
    await until(() => expect(connection.outage).toBeUndefined());
    await connection.publish({ topic: 'set', payload: 'off', retain: false }, signal);
    const published = broker.packets
      .filter(({ type }) => type === 'publish')
      .map(({ body }) => body.toString('latin1'));
    expect(published.map((body) => /(on|off)$/.exec(body)?.[0])).toEqual(['on', 'off']);
  });

  it('ends a connection on which nothing is acknowledged', async () => {
    const { broker, connection } = await given();
    await until(() => expect(connection.outage).toBeUndefined());
    broker.acknowledges = false;
    const sent = connection.publish({ topic: 'set', payload: 'on', retain: false }, AbortSignal.timeout(100));
    await expect(sent).rejects.toMatchObject({ code: 'hardware/deadline' });
    expect(connection.outage).toBeUndefined();
    await vi.waitFor(() => expect(broker.connections).toBe(2), { timeout: 10_000 });
    expect(broker.packets.filter(({ type }) => type === 'publish')).toHaveLength(1);
  });

  it('says when a message expires, to a broker that understands it', async () => {
    const { broker, connection } = await given();
    await until(() => expect(connection.outage).toBeUndefined());
    await connection.publish({ topic: 'set', payload: 'on', retain: false, expiresAfterMs: 5_900 }, signal);
    const body = broker.packets.find(({ type }) => type === 'publish')?.body;
    // MQTT 5.0, section 3.3.2.3.3: property 2 with four bytes.
    expect(body?.includes(Buffer.of(5, 2, 0, 0, 0, 5))).toBe(true);
  });

  it.each([
    [134, /refuses user or password$/],
    [132, /choose the other by version$/],
  ])('says why a broker refuses it: %i', async (code, words) => {
    const { broker, connection } = await given({ user: 'agent', password: 'well hidden' });
    broker.refuseWith = code;
    await until(() => expect(connection.outage).toMatch(words));
    expect(connection.outage).not.toContain('well hidden');
    expect(broker.connections).toBeGreaterThan(0);
  });

  it('ends a connection on which a packet comes that is too long', async () => {
    const { broker, connection } = await given({ version: '3.1.1', maxPacketBytes: 1_000 });
    await until(() => expect(connection.outage).toBeUndefined());
    // A publication of 200 MB, as its header says.
    broker.send(Buffer.of(0x30, 0x80, 0x84, 0xaf, 0x5f));
    broker.send(Buffer.alloc(600_000));
    await until(() => expect(connection.outage).toMatch(/more than maxPacket/));
  });
});

describe.each(['5', '3.1.1'] as const)('a broker that hangs up, MQTT %s', (version) => {
  /** What is said once the broker has hung up so often, as soon as it let the client in. */
  async function toldAfter(times: number, clientId: string | undefined): Promise<string> {
    const clock = new FakeClock({ monotonicMs: 10_000 });
    const { broker, connection } = await given({ version, clientId }, clock);
    for (let time = 1; time <= times; time += 1) {
      await clock.advance(5_000);
      await until(() => expect(connection.outage).toBeUndefined());
      broker.hangUp();
      await until(() => expect(connection.outage).toBeDefined());
    }
    return (connection.outage ?? '').replace(/^127\.0\.0\.1:\d+ /, '');
  }

  it('is suspected of another client with the same id the second time', async () => {
    expect(await toldAfter(1, 'gateway')).toBe('hung up');
    expect(await toldAfter(2, 'gateway')).toBe(
      'hangs up again and again, as it does when another client has the same clientId, gateway: give each client its own',
    );
    // Nobody else has an id that was drawn.
    expect(await toldAfter(2, undefined)).toBe('hung up');
  });

  it('is not suspected after a connection that lasted', async () => {
    const clock = new FakeClock({ monotonicMs: 10_000 });
    const { broker, connection } = await given({ version, keepAliveMs: 3_600_000 }, clock);
    for (let time = 1; time <= 2; time += 1) {
      await clock.advance(5_000);
      await until(() => expect(connection.outage).toBeUndefined());
      await clock.advance(61_000);
      broker.hangUp();
      await until(() => expect(connection.outage).toMatch(/ hung up$/));
    }
  });

  it('is suspected of TLS when it answers nothing, or in TLS', async () => {
    const server = createServer().on('connection', (socket) => socket.once('data', () => answer(socket)));
    let answer = (socket: Socket): void => void socket.destroy();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    clean.push(() => server.close());
    const url = `mqtt://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { connection } = await given({ version, url });
    const remedy = 'mqtts:// instead of mqtt://, or its port without TLS, mostly 1883';
    await until(() =>
      expect(connection.outage).toContain(`hung up without an answer, as a port with TLS does: ${remedy}`),
    );
    // An alert of TLS 1.2: fatal, unexpected message.
    answer = (socket) => void socket.end(Buffer.of(0x15, 3, 3, 0, 2, 2, 10));
    await until(() => expect(connection.outage).toContain(`answers in TLS: ${remedy}`));
  });
});
