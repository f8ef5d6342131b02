/** MQTT brokers of the site. All who name one share a connection. */
import { z } from 'zod';
import { duration, existingFile, name, secretFields, section, size, text } from '../fields/fields.ts';

/** Messages of gateways for radio sensors have some kB; pictures are none of ours. */
const DEFAULT_MAX_PACKET = '256kB';

const BROKER_URL =
  'mqtt://host or mqtts://host, with :port where it is another than 1883 or 8883, without user, password and path';

const brokerUrl = () =>
  z
    .string()
    .max(300)
    .refine(isBrokerUrl, BROKER_URL)
    .meta({ expected: BROKER_URL, pattern: '^mqtts?://[^\\s\\\\@/?#]+/?$' });

export const brokerSchema = section({
  name: name(),
  url: brokerUrl(),
  /** Version of MQTT. */
  version: z.enum(['5', '3.1.1']).default('5'),
  user: z.string().min(1).max(255).optional(),
  ...secretFields('password'),
  /** Authorities to trust instead of the public ones, PEM; the broker's own certificate is one. */
  caFile: existingFile().optional(),
  /** Certificate and key with which the gateway says who it is. */
  clientCertificateFile: existingFile().optional(),
  clientKeyFile: existingFile().optional(),
  /** Name in the broker's certificate, where it is reached by another or by its number. */
  serverName: text(/^[A-Za-z0-9.-]{1,253}$/, 'a host name').optional(),
  /** Id of the session in which the broker keeps messages while the gateway is away; default: made from the gateway's name. No other client may have it. */
  clientId: text(/^[\x21-\x7e]{1,64}$/, 'an id of 1 to 64 letters, digits and signs').optional(),
  /** Silence after which the connection is tried. */
  keepAlive: duration({ min: '5s', max: '1h' }).prefault('30s'),
  /** The longest packet that is taken. */
  maxPacket: size({ min: '1kB', max: '2MB' }).prefault(DEFAULT_MAX_PACKET),
});

export type BrokerConfig = z.infer<typeof brokerSchema>;

/** Also what the URL parser would mend is a mistake. */
function isBrokerUrl(value: string): boolean {
  return /^mqtts?:\/\/[^\s\\@/?#]+\/?$/.test(value) && URL.canParse(value) && new URL(value).hostname !== '';
}
