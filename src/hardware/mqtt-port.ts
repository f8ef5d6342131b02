/**
 * MQTT brokers of the site. All who name one broker share one connection and one session there, in which the broker keeps messages while nobody is
 * connected. A message is acknowledged once every listener has kept it, in the order in which messages came.
 */

export interface MqttBrokerSettings {
  /** Name in the configuration, for messages. */
  readonly name: string;
  /** `mqtt://host:port` or `mqtts://host:port`, without user and password. */
  readonly url: string;
  readonly version: '5' | '3.1.1';
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  /** PEM files. */
  readonly caFile?: string | undefined;
  readonly clientCertificateFile?: string | undefined;
  readonly clientKeyFile?: string | undefined;
  /** Name in the broker's certificate, where it is reached by another. */
  readonly serverName?: string | undefined;
  /** Id of a session that the broker keeps; undefined for one that ends with the connection. */
  readonly clientId?: string | undefined;
  readonly keepAliveMs: number;
  /** Length of the longest packet that is taken. */
  readonly maxPacketBytes: number;
}

export interface MqttMessage {
  readonly topic: string;
  readonly payload: Uint8Array;
  /** The broker kept it from before it was subscribed to: its age is unknown. */
  readonly isRetained: boolean;
}

/** Takes a message; one that is kept later returns a promise, whose rejection has the broker send the message again. */
export type MqttListener = (message: MqttMessage) => void | Promise<void>;

export interface MqttPublication {
  readonly topic: string;
  readonly payload: string | Uint8Array;
  readonly retain: boolean;
  /** Default 1; 0 is acknowledged by nobody. */
  readonly qos?: 0 | 1;
  /** Time after which a broker of MQTT 5 no longer gives it to a device that was away, to the second; default: never. */
  readonly expiresAfterMs?: number;
}

/** One user's share of a connection. */
export interface MqttConnection {
  /** Why there is no connection, in words; undefined while there is one. */
  readonly outage: string | undefined;
  /** Calls back when there is no connection any more, until the returned function is called. */
  onOutage(listener: () => void): () => void;
  /** Why the broker does not give this filter, in words. */
  refusal(filter: string): string | undefined;
  /**
   * Hears what comes under a filter, until the returned function is called. With `remember`, the last message of a topic is told at once where it
   * has come before.
   */
  subscribe(filter: string, listener: MqttListener, options?: { readonly remember: boolean }): () => void;
  /**
   * Resolves once the broker has acknowledged it. Nothing is kept for later: without a connection it is refused, and what the broker has not
   * acknowledged goes with the connection, which ends a few seconds later.
   * @throws AgentError `hardware/mqtt-no-answer`, `hardware/deadline` (retry).
   */
  publish(publication: MqttPublication, signal: AbortSignal): Promise<void>;
  /** Gives the share back; the last one closes the connection. Idempotent. */
  close(): Promise<void>;
}

/** Finds a broker of the configuration by its name. */
export type BrokerOf = (name: string) => Promise<MqttBrokerSettings | undefined>;

export interface MqttPort {
  /**
   * Returns a share at once, also while the broker is not there; where others have other settings, once they have given theirs back. @throws AgentError
   * `hardware/mqtt-busy` (retry) where they keep them.
   */
  open(settings: MqttBrokerSettings, signal: AbortSignal): Promise<MqttConnection>;
  /** Closes every connection. Idempotent. */
  close(): Promise<void>;
}
