/** TLS and passwords against Debian's broker: who is trusted, and what is said of who is not. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { LinuxMqtt } from '../../src/hardware/linux-mqtt.ts';
import type { MqttBrokerSettings, MqttConnection } from '../../src/hardware/mqtt-port.ts';
import { systemClock } from '../../src/host/clock.ts';
import { Mosquitto, missingMosquitto } from '../support/mosquitto.ts';

const missing = missingMosquitto();
const { signal: never } = new AbortController();

let folder: string;
let broker: Mosquitto;
const inFolder = (name: string): string => join(folder, name);

const openssl = (...words: readonly string[]) => promisify(execFile)('openssl', words, { cwd: folder });

/** An authority that signs itself. */
async function makeAuthority(name: string): Promise<void> {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', `${name}.key`];
  await openssl('req', '-x509', ...key, '-out', `${name}.pem`, '-days', '2', '-subj', `/CN=${name}`);
}

/** A certificate for the name `broker.test`. */
async function makeCertificate(): Promise<void> {
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-keyout', 'broker.key'];
  await openssl('req', ...key, '-out', 'broker.csr', '-subj', '/CN=broker');
  await writeFile(inFolder('names'), 'subjectAltName=DNS:broker.test\n');
  const signed = ['-CA', 'house.pem', '-CAkey', 'house.key', '-CAcreateserial', '-extfile', 'names'];
  await openssl('x509', '-req', '-in', 'broker.csr', ...signed, '-days', '2', '-out', 'broker.pem');
}

describe.skipIf(missing !== undefined)('a broker with TLS and a password', () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'turnstone-tls-'));
    await makeAuthority('house');
    await makeAuthority('stranger');
    await makeCertificate();
    const tls = { certificateFile: inFolder('broker.pem'), keyFile: inFolder('broker.key') };
    broker = await Mosquitto.open({ password: 'a-secret', tls });
    await broker.start();
  }, 60_000);
  afterAll(async () => {
    await broker?.remove();
    await rm(folder, { recursive: true, force: true });
  });

  /** What a connection with these settings says once it has been tried. */
  async function told(
    more: Partial<MqttBrokerSettings>,
    use: (connection: MqttConnection) => Promise<void> = async () => {},
  ): Promise<string | undefined> {
    const port = new LinuxMqtt({ clock: systemClock });
    const settings: MqttBrokerSettings = {
      name: 'house',
      url: broker.url,
      version: '5',
      user: 'agent',
      password: 'a-secret',
      caFile: inFolder('house.pem'),
      serverName: 'broker.test',
      keepAliveMs: 30_000,
      maxPacketBytes: 65_536,
      ...more,
    };
    try {
      const connection = await port.open(settings, never);
      const isTried = (): boolean => connection.outage?.includes('is not connected yet') !== true;
      await vi.waitFor(() => expect(isTried()).toBe(true), { timeout: 15_000 });
      if (connection.outage === undefined) await use(connection);
      return connection.outage;
    } finally {
      await port.close();
    }
  }

  it.each(['5', '3.1.1'] as const)('is connected to by who trusts its authority, MQTT %s', async (version) => {
    let heard = '';
    const outage = await told({ version }, async (connection) => {
      connection.subscribe('a', ({ payload }) => {
        heard = Buffer.from(payload).toString();
      });
      await connection.publish({ topic: 'a', payload: 'through', retain: true }, AbortSignal.timeout(10_000));
      await vi.waitFor(() => expect(heard).toBe('through'), { timeout: 10_000 });
    });
    expect([outage, heard]).toEqual([undefined, 'through']);
  });

  const host = (): string => new URL(broker.url).host;

  it('is not trusted by who knows another authority, or the public ones alone', async () => {
    const words = `${host()} has a certificate of an unknown authority: give that as caFile`;
    expect(await told({ caFile: inFolder('stranger.pem') })).toBe(words);
    expect(await told({ caFile: undefined })).toBe(words);
  });

  it('is not taken for one of another name, nor for its number', async () => {
    const words = `${host()} has a certificate for another name: give that as serverName`;
    expect(await told({ serverName: 'other.test' })).toBe(words);
    expect(await told({ serverName: undefined })).toBe(words);
  });

  it.each(['5', '3.1.1'] as const)('refuses a wrong password, and none, in words, MQTT %s', async (version) => {
    const words = [
      await told({ version, password: 'a-guess' }),
      await told({ version, user: undefined, password: undefined }),
    ];
    const expected = `${host()} refuses this client: check user, password and its rights`;
    expect(words).toEqual([expected, expected]);
  });

  it('says what it looks like when TLS is spoken at a port without it, and nothing at one with it', async () => {
    const plain = await Mosquitto.open();
    await plain.start();
    try {
      expect(await told({ url: plain.url.replace('mqtt:', 'mqtts:') })).toBe(
        `${new URL(plain.url).host} hung up as TLS began, as a port without TLS does: mqtt:// instead of mqtts://, or its port with TLS, mostly 8883`,
      );
    } finally {
      await plain.remove();
    }
    expect(await told({ url: broker.url.replace('mqtts:', 'mqtt:') })).toBe(
      `${host()} hung up without an answer, as a port with TLS does: mqtts:// instead of mqtt://, or its port without TLS, mostly 1883`,
    );
  });

  it.each(['5', '3.1.1'] as const)(
    'hangs up on one of two clients with one id, MQTT %s',
    async (version) => {
      const other = new LinuxMqtt({ clock: systemClock });
      const plain = await Mosquitto.open();
      await plain.start();
      const both = { url: plain.url, version, clientId: 'twin', user: undefined, password: undefined };
      try {
        await told(both, async (connection) => {
          await other.open({ name: 'house', keepAliveMs: 30_000, maxPacketBytes: 65_536, ...both }, never);
          await vi.waitFor(() => expect(connection.outage).toContain('another client has the same clientId, twin'), {
            timeout: 20_000,
          });
        });
      } finally {
        await other.close();
        await plain.remove();
      }
    },
    40_000,
  );

  it('says that the file of the authority is not there', async () => {
    expect(await told({ caFile: inFolder('none.pem') })).toBe(`${inFolder('none.pem')} is not there`);
  });
});
