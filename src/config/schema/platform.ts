/** The way to the platform: address, credentials, TLS, proxy, budgets; and how a device comes by its credentials. */
import { z } from 'zod';
import {
  ACCESS_TOKEN,
  duration,
  existingFile,
  LIVE,
  PROXY_ADDRESS,
  platformKey,
  secretFields,
  section,
  text,
  url,
} from '../fields/fields.ts';

/** The platform itself gives up on a request after 30 s; half of that leaves room for a second try. */
const DEFAULT_REQUEST_TIMEOUT = '15s';
const DEFAULT_CONNECT_TIMEOUT = '10s';
/** A shared attribute lost between two polls is found again this late at worst. */
const DEFAULT_RECONCILE_PERIOD = '5m';
/** The platform acknowledges what is in the memory of its queue. */
const DEFAULT_RESEND_WINDOW = '15s';

export const platformSchema = section({
  /** Scheme, host and port; a path only when a proxy in front needs one. */
  url: url(),
  ...secretFields('accessToken', ACCESS_TOKEN),
  /** Authorities to trust beside the public ones, PEM: of the platform, of its proxy, and of whoever keeps a firmware file. */
  caFile: existingFile().optional(),
  clientCertificateFile: existingFile().optional(),
  clientKeyFile: existingFile().optional(),
  /** An HTTP or HTTPS proxy; user and password may be in it. */
  ...secretFields('proxy', PROXY_ADDRESS),
  codec: z.enum(['json', 'cbor']).default('json'),
  connectTimeout: duration({ min: '100ms', max: '5m' }).prefault(DEFAULT_CONNECT_TIMEOUT),
  requestTimeout: duration({ min: '100ms', max: '5m' }).prefault(DEFAULT_REQUEST_TIMEOUT),
  /** Longest poll; without it polls are as long as the platform, and what is between, turn out to hold them. */
  pollTimeout: duration({ min: '1s', max: '5m' }).optional(),
  reconcilePeriod: duration({ min: '5s', max: '1d' }).meta(LIVE).prefault(DEFAULT_RECONCILE_PERIOD),
  /** After a restart of the platform, telemetry acknowledged so shortly before its last answer is sent once more; 0s: never. */
  resendWindow: duration({ max: '5m' }).prefault(DEFAULT_RESEND_WINDOW),
});

export const deviceNameTemplate = () =>
  text(
    /^[^<>\p{Cc}]{1,255}$/u,
    'a device name of 1 to 255 characters; {serial}, {mac}, {machineId}, {hostname} and choices such as {serial|mac} are replaced',
  );

export const provisioningSchema = section({
  /** `{serial}`, `{mac}`, `{machineId}`, `{hostname}` are replaced by what the board is; `{serial|mac}` by the first that it has. */
  deviceName: deviceNameTemplate().default('gateway-{serial|mac}'),
  ...secretFields('deviceKey'),
  ...secretFields('deviceSecret'),
  /** Key and secret of the device profile of attached devices; default: the gateway's. */
  devices: section({ ...secretFields('key'), ...secretFields('secret') }).optional(),
  /** When the platform no longer knows the token: `hold` alerts and waits for a person. */
  onUnauthorised: z.enum(['hold', 'reprovision']).default('hold'),
  /** When the kept credentials are another board's, as on a copied or moved card: `continue` and `hold` alert, `reprovision` makes a device of its own and sets aside what waits. */
  onOtherBoard: z.enum(['continue', 'hold', 'reprovision']).default('continue'),
});

/** Source that makes the clock right: `platform` takes the system's, and the platform's date where the system says nothing. */
export const timeSchema = section({ trust: z.enum(['system', 'platform', 'always']).default('platform') });

export const attributesSchema = section({
  /** Fixed client attributes, such as where the gateway stands. */
  client: z.record(platformKey(), z.json()).readonly().default({}),
  /** True lets shared attributes change live settings. */
  liveSettings: z.boolean().default(true),
  /** How often client attributes are read back and differences healed. */
  readBackPeriod: duration({ min: '1m', max: '30d' }).prefault('1h'),
});

export type PlatformConfig = z.infer<typeof platformSchema>;
export type ProvisioningConfig = z.infer<typeof provisioningSchema>;
export type TimeConfig = z.infer<typeof timeSchema>;
export type AttributesConfig = z.infer<typeof attributesSchema>;
