/**
 * The connection to one broker, made again with backoff for as long as it has users. mqtt.js speaks the protocol; two things are done here.
 *
 * Acknowledgement: mqtt.js acknowledges a message as its handler ends, and hands out no other meanwhile. So each message of QoS 1 is given to it as
 * one of QoS 0 (`packetreceive` comes before it looks), and its PUBACK is written here, once the message is kept (kept-messages.ts). Where too
 * much waits, the handler stays open, and nothing more is read.
 *
 * Session: the broker keeps messages by the client id. Those that come before their sensor has opened wait for it.
 */
import { connect as connectTcp, isIP, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import { crc32 } from 'node:zlib';
import { type IClientSubscribeOptions, type IPublishPacket, MqttClient } from 'mqtt';
import { messageOf, retryable } from '../errors/agent-error.ts';
import { Backoff } from '../host/backoff.ts';
import type { Clock } from '../host/clock.ts';
import { readUserFile } from '../host/whole-file.ts';
import { getOrInsert } from '../values/get-or-insert.ts';
import { Listeners } from '../values/listeners.ts';
import { matchesFilter } from '../values/mqtt-topics.ts';
import { answerWithin } from './deadline.ts';
import { KEPT_BOUNDS, type KeptMessages } from './kept-messages.ts';
import { answersInTls, isHangUp, mqttHangUp, mqttOutage, mqttRefusal } from './mqtt-faults.ts';
import type { MqttBrokerSettings, MqttConnection, MqttListener, MqttMessage, MqttPublication } from './mqtt-port.ts';

const RECONNECT = { firstMs: 1_000, maxMs: 60_000 };
/** A connection that lasted so long was a good one: brokers hang up at once on a client whose id another has. */
const GOOD_AFTER_MS = 10_000;
/** Two clients with one id end each other's connection as often as they connect: within their backoffs. */
const SOON_MS = 60_000;
const CONNECT_WITHIN_MS = 10_000;
/** Sensors that open together are subscribed to before the first message comes. */
const FIRST_CONNECT_AFTER_MS = 500;
/** A sensor that fails is opened again within a minute; until then messages for it wait. */
const RELEASE_AFTER_MS = 120_000;
/** Bytes beyond the longest packet that may lie in the buffers of a socket. */
const BUFFERED_BYTES = 256 * 1024;
/** How long the broker keeps the session of a gateway that does not come back, s. */
const SESSION_EXPIRES_S = 30 * 86_400;
/** Timeout of an orderly disconnect; then the connection is cut. */
const CLOSE_WITHIN_MS = 1_000;
/** A broker acknowledges a message within milliseconds; without an answer for so long the way to it is cut. */
const ACKNOWLEDGE_WITHIN_MS = 5_000;
const MAX_PEM_BYTES = 256 * 1024;

interface Subscription {
  readonly filter: string;
  readonly listeners: Set<MqttListener>;
  /** Last message of each topic, where somebody wants it remembered. */
  readonly remembered: Map<string, MqttMessage>;
  isRemembering: boolean;
  isAsked: boolean;
  refusal: string | undefined;
  cancelRelease: () => void;
}

/** A message that nobody has taken yet. */
interface Unclaimed {
  readonly message: MqttMessage;
  readonly claim: (kept: void | Promise<void>) => void;
}

export interface BrokerConnectionDeps {
  readonly settings: MqttBrokerSettings;
  readonly clock: Clock;
  /** Messages of this broker, also of earlier connections. */
  readonly kept: KeptMessages;
}

export class BrokerConnection {
  readonly #settings: MqttBrokerSettings;
  readonly #clock: Clock;
  readonly #host: string;
  readonly #closing = new AbortController();
  readonly #subscriptions = new Map<string, Subscription>();
  readonly #kept: KeptMessages;
  readonly #unclaimed = new Set<Unclaimed>();
  readonly #startedAtMs: number;
  readonly #lost = new Listeners<[]>();
  #outage: string | undefined;
  /** True where the broker says with a message to which filters it belongs. */
  #takesNumbers = false;
  #client: MqttClient | undefined;
  /** Below TLS, where that is spoken. */
  #socket: Socket | undefined;
  /** Signs of the broker on the present connection: that TLS is up, and the first byte without TLS. */
  #isSecure = false;
  #firstByte: number | undefined;
  /** Connections in a row on which the broker hung up soon after it had accepted the gateway. */
  #hangUps = 0;
  #running: Promise<void> = Promise.resolve();
  #isFirst = true;

  private constructor({ settings, clock, kept }: BrokerConnectionDeps) {
    this.#kept = kept;
    this.#settings = settings;
    this.#clock = clock;
    this.#host = new URL(settings.url).host;
    this.#outage = `${this.#host} is not connected yet`;
    this.#startedAtMs = clock.monotonicMs();
  }

  static start(deps: BrokerConnectionDeps): BrokerConnection {
    const connection = new BrokerConnection(deps);
    connection.#running = connection.#run(connection.#closing.signal);
    return connection;
  }

  /** @param onClose told once when the share is given back. */
  share(onClose: () => Promise<void>): MqttConnection {
    const outage = (): string | undefined => this.#outage;
    return {
      get outage() {
        return outage();
      },
      onOutage: this.#lost.add,
      refusal: (filter) => this.#subscriptions.get(filter)?.refusal,
      subscribe: (filter, listener, { remember } = { remember: false }) => this.#subscribe(filter, listener, remember),
      publish: (publication, signal) => this.#publish(publication, signal),
      close: onClose,
    };
  }

  /** Ends the connection, and keeps the session. Idempotent. */
  async close(): Promise<void> {
    this.#closing.abort();
    for (const { cancelRelease } of this.#subscriptions.values()) cancelRelease();
    await this.#running;
    this.#dropUnclaimed();
  }

  async #run(signal: AbortSignal): Promise<void> {
    const backoff = new Backoff(RECONNECT, this.#clock);
    await this.#clock.sleep(FIRST_CONNECT_AFTER_MS, signal);
    while (!signal.aborted) {
      const beganAtMs = this.#clock.monotonicMs();
      await this.#connectOnce(signal);
      if (this.#clock.monotonicMs() - beganAtMs > GOOD_AFTER_MS) backoff.reset();
      await this.#clock.sleep(backoff.nextMs(), signal);
    }
  }

  /** Resolves when the connection has ended, or could not be made. Never rejects. */
  async #connectOnce(signal: AbortSignal): Promise<void> {
    let client: MqttClient;
    try {
      client = await this.#newClient();
    } catch (error) {
      this.#outage = messageOf(error);
      return;
    }
    const { promise: ended, resolve: end } = Promise.withResolvers<void>();
    let inAtMs: number | undefined;
    let isTold = false;
    const hangUp = (): void => {
      const isSoon = inAtMs !== undefined && this.#clock.monotonicMs() - inAtMs < SOON_MS;
      this.#hangUps = isSoon ? this.#hangUps + 1 : 0;
      this.#outage = mqttHangUp(this.#host, {
        isTls: this.#settings.url.startsWith('mqtts:'),
        isSecure: this.#isSecure,
        firstByte: this.#firstByte,
        isIn: inAtMs !== undefined,
        isRepeated: this.#hangUps > 1,
        clientId: this.#settings.clientId,
      });
    };
    let cancelStop = (): void => {};
    const stop = (): void => {
      cancelStop = this.#clock.after(CLOSE_WITHIN_MS, end);
      client.end(false, () => end());
    };
    client.on('connect', ({ properties }) => {
      this.#client = client;
      inAtMs = this.#clock.monotonicMs();
      this.#takesNumbers = properties?.subscriptionIdentifiersAvailable !== false;
      this.#outage = undefined;
      for (const subscription of this.#subscriptions.values()) this.#ask(subscription, client);
      this.#isFirst = false;
    });
    client.on('error', (error) => {
      isTold = !isHangUp(error) && !answersInTls(this.#firstByte);
      if (isTold) this.#outage = mqttOutage(this.#host, error);
      client.stream.destroy();
    });
    client.on('disconnect', (packet) => {
      isTold = true;
      this.#outage = mqttOutage(this.#host, { code: packet.reasonCode });
    });
    client.on('close', () => {
      this.#client = undefined;
      // A reason that this side knows stands already.
      if (!isTold && (inAtMs === undefined || this.#outage === undefined)) hangUp();
      else this.#hangUps = 0;
      for (const subscription of this.#subscriptions.values()) subscription.isAsked = false;
      this.#lost.tell();
      end();
    });
    // Each publication that waits for its PUBACK has a listener.
    client.setMaxListeners(0);
    this.#takeMessages(client);
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    await ended;
    signal.removeEventListener('abort', stop);
    cancelStop();
    this.#client = undefined;
    this.#dropUnclaimed();
    // Ends what is left of the connection.
    client.stream.destroy();
  }

  async #newClient(): Promise<MqttClient> {
    const { user, password, version, clientId, keepAliveMs, maxPacketBytes } = this.#settings;
    const openStream = await this.#streamOpener();
    const isSession = clientId !== undefined;
    return new MqttClient(openStream, {
      clientId: clientId ?? `turnstone-${Math.trunc(this.#clock.jitter() * 2 ** 48).toString(16)}`,
      clean: !isSession,
      protocolVersion: version === '5' ? 5 : 4,
      ...(user !== undefined && { username: user }),
      ...(password !== undefined && { password }),
      keepalive: Math.ceil(keepAliveMs / 1_000),
      connectTimeout: CONNECT_WITHIN_MS,
      reconnectPeriod: 0,
      resubscribe: false,
      queueQoSZero: false,
      ...(version === '5' && {
        properties: {
          sessionExpiryInterval: isSession ? SESSION_EXPIRES_S : 0,
          receiveMaximum: KEPT_BOUNDS.maxCount,
          maximumPacketSize: maxPacketBytes,
        },
      }),
    });
  }

  async #streamOpener(): Promise<() => Duplex> {
    const { url, caFile, clientCertificateFile, clientKeyFile, serverName } = this.#settings;
    const { protocol, hostname, port } = new URL(url);
    const host = hostname.replace(/^\[(.*)\]$/, '$1');
    this.#isSecure = false;
    this.#firstByte = undefined;
    const openSocket = (defaultPort: number): Socket => {
      this.#socket = connectTcp({ host, port: Number(port || defaultPort) });
      return this.#socket;
    };
    if (protocol === 'mqtt:')
      return () =>
        openSocket(1_883).once('data', (bytes: Uint8Array) => {
          this.#firstByte = bytes[0];
        });
    const [ca, cert, key] = await Promise.all([caFile, clientCertificateFile, clientKeyFile].map(readPem));
    const name = serverName ?? (isIP(host) === 0 ? host : undefined);
    return () =>
      connectTls({
        socket: openSocket(8_883),
        host,
        ca,
        cert,
        key,
        ...(name !== undefined && { servername: name }),
      }).once('secureConnect', () => {
        this.#isSecure = true;
      });
  }

  /** Ends a connection at once, with what was written and has not gone out. */
  #reset(client: MqttClient): void {
    this.#socket?.resetAndDestroy();
    client.stream.destroy();
  }

  #takeMessages(client: MqttClient): void {
    const ids = new WeakMap<object, number>();
    let unparsedBytes = 0;
    const { maxPacketBytes } = this.#settings;
    client.stream.on('data', (bytes: Uint8Array) => {
      unparsedBytes += bytes.length;
      if (unparsedBytes <= maxPacketBytes + BUFFERED_BYTES) return;
      this.#outage = `${this.#host} sends a packet of more than maxPacket, ${maxPacketBytes} bytes`;
      client.stream.destroy();
    });
    client.on('packetreceive', (packet) => {
      unparsedBytes = 0;
      if (packet.cmd !== 'publish' || packet.qos !== 1 || packet.messageId === undefined) return;
      ids.set(packet, packet.messageId);
      packet.qos = 0;
    });
    client.handleMessage = (packet, callback) => {
      this.#take(packet, ids.get(packet), client);
      this.#kept.whenRoom(() => callback());
    };
  }

  #take(
    { topic, payload, retain, properties }: IPublishPacket,
    messageId: number | undefined,
    client: MqttClient,
  ): void {
    const bytes = Buffer.from(payload);
    const acknowledge = (): void => {
      if (messageId !== undefined && this.#client === client)
        client.stream.write(Buffer.of(0x40, 2, messageId >> 8, messageId & 0xff));
    };
    // Acknowledgements go out in order. So the connection is ended, and the broker sends the message again on the next one.
    const fail = (error: unknown): void => {
      if (messageId === undefined || this.#client !== client) return;
      this.#outage = `a message could not be kept: ${messageOf(error)}`;
      client.stream.destroy();
    };
    const message = { topic, payload: bytes, isRetained: retain };
    const kept = this.#deliver(message, [properties?.subscriptionIdentifier ?? []].flat());
    this.#kept.take({ bytes: bytes.length + topic.length, acknowledge, fail }, kept);
  }

  /** Returns what keeps the message; undefined when all have kept it. @param numbers of the filters it comes for; other filters get a copy each. */
  #deliver(message: MqttMessage, numbers: readonly number[]): Promise<unknown> | undefined {
    const wanted = [...this.#subscriptions.values()].filter(
      ({ filter }) =>
        matchesFilter(filter, message.topic) && (numbers.length === 0 || numbers.includes(numberOf(filter))),
    );
    for (const { isRemembering, remembered } of wanted) if (isRemembering) remembered.set(message.topic, message);
    const listeners = wanted.flatMap((subscription) => [...subscription.listeners]);
    if (listeners.length === 0) return this.#hold(message, wanted.length > 0);
    const waits = listeners.flatMap((listener) => told(listener, message) ?? []);
    return waits.length === 0 ? undefined : Promise.all(waits);
  }

  #hold(message: MqttMessage, isKnown: boolean): Promise<unknown> | undefined {
    if (!isKnown && this.#clock.monotonicMs() - this.#startedAtMs > RELEASE_AFTER_MS) return undefined;
    return new Promise<void>((resolve, reject) => {
      const cancel = this.#clock.after(RELEASE_AFTER_MS, () => unclaimed.claim(undefined));
      const unclaimed: Unclaimed = {
        message,
        claim: (kept) => {
          cancel();
          this.#unclaimed.delete(unclaimed);
          Promise.resolve(kept).then(resolve, reject);
        },
      };
      this.#unclaimed.add(unclaimed);
    });
  }

  /** Drops messages that nobody has taken; the broker sends them again on the next connection. */
  #dropUnclaimed(): void {
    const ended = retryable('hardware/mqtt-no-answer', `the connection to ${this.#host} has ended`);
    for (const { claim } of [...this.#unclaimed]) claim(Promise.reject(ended));
  }

  #subscribe(filter: string, listener: MqttListener, remember: boolean): () => void {
    const subscription = getOrInsert(this.#subscriptions, filter, () => ({
      filter,
      listeners: new Set<MqttListener>(),
      remembered: new Map<string, MqttMessage>(),
      isRemembering: false,
      isAsked: false,
      refusal: undefined,
      cancelRelease: () => {},
    }));
    subscription.isRemembering ||= remember;
    subscription.cancelRelease();
    subscription.listeners.add(listener);
    if (remember) for (const message of subscription.remembered.values()) void told(listener, message);
    for (const { message, claim } of [...this.#unclaimed])
      if (matchesFilter(filter, message.topic)) claim(told(listener, message));
    if (this.#client !== undefined) this.#ask(subscription, this.#client);
    return () => {
      // A second call would schedule a release that nobody cancels, and end the subscription of later listeners.
      if (!subscription.listeners.delete(listener)) return;
      if (subscription.listeners.size > 0 || this.#closing.signal.aborted) return;
      subscription.cancelRelease = this.#clock.after(RELEASE_AFTER_MS, () => {
        this.#subscriptions.delete(filter);
        this.#client?.unsubscribe(filter);
      });
    };
  }

  #ask(subscription: Subscription, client: MqttClient): void {
    if (subscription.isAsked) return;
    subscription.isAsked = true;
    // Retained messages are asked for once in a run: on each later connection they would look new.
    const rh = this.#isFirst || subscription.refusal !== undefined ? 0 : 1;
    const isNumbered = this.#settings.version === '5' && this.#takesNumbers;
    const numbered = isNumbered ? { properties: { subscriptionIdentifier: numberOf(subscription.filter) } } : {};
    const options = this.#settings.version === '5' ? { qos: 1, rh, ...numbered } : { qos: 1 };
    client.subscribe(subscription.filter, options as IClientSubscribeOptions, (error) => {
      subscription.refusal =
        error === null || this.#client !== client ? undefined : mqttRefusal(this.#host, subscription.filter, error);
    });
  }

  async #publish(publication: MqttPublication, signal: AbortSignal): Promise<void> {
    const { topic, payload, retain, qos = 1, expiresAfterMs } = publication;
    const client = this.#client;
    signal.throwIfAborted();
    // A socket that has closed unnoticed would lose the message, or the library would keep it for later.
    if (client === undefined || !client.connected)
      throw retryable('hardware/mqtt-no-answer', this.#outage ?? `${this.#host} is not connected`);
    const message = typeof payload === 'string' ? payload : Buffer.from(payload);
    const properties =
      expiresAfterMs === undefined || this.#settings.version !== '5'
        ? {}
        : { properties: { messageExpiryInterval: Math.max(1, Math.floor(expiresAfterMs / 1_000)) } };
    // Unacknowledged messages in the socket would arrive when the network is back, and move an output that nobody waits for by then.
    const cancelReset = this.#clock.after(ACKNOWLEDGE_WITHIN_MS, () => {
      if (this.#client !== client) return;
      this.#outage = `${this.#host} did not acknowledge a message`;
      this.#reset(client);
    });
    await answerWithin<void>(
      (resolve, reject) => {
        const lost = (): void =>
          reject(retryable('hardware/mqtt-no-answer', `${this.#host} hung up before it acknowledged a message`));
        client.once('close', lost);
        client.publish(topic, message, { qos, retain, ...properties }, (error) => {
          client.off('close', lost);
          cancelReset();
          if (error === null || error === undefined) resolve();
          else reject(retryable('hardware/mqtt-no-answer', mqttOutage(this.#host, error), error));
        });
      },
      `waiting for ${this.#host}`,
      signal,
    );
  }
}

/** Returns the listener's promise; an error that the listener throws counts as a message that was not kept. */
function told(listener: MqttListener, message: MqttMessage): void | Promise<void> {
  try {
    return listener(message);
  } catch (error) {
    return Promise.reject(error);
  }
}

async function readPem(path: string | undefined): Promise<string | undefined> {
  if (path === undefined) return undefined;
  const pem = await readUserFile(path, MAX_PEM_BYTES);
  if (pem === undefined) throw retryable('hardware/mqtt-no-file', `${path} is not there`);
  return pem.toString('utf8');
}

/** Number of a filter in every run, as the broker keeps it with the session: 1 to 268,435,455 (MQTT 5, 3.8.2.1.2). */
function numberOf(filter: string): number {
  return (crc32(filter) % 268_435_455) + 1;
}
