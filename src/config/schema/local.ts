/** Sections that concern this machine alone: its board, its log, its status page; and the analytics service for reports. */
import { z } from 'zod';
import { duration, existingFile, filePath, LIVE, secretFields, section, url, whole } from '../fields/fields.ts';

export const logSchema = section({ level: z.enum(['debug', 'info', 'warn', 'error']).meta(LIVE).default('info') });

export const hardwareSchema = section({
  /** `simulated` speaks to a simulated board over its socket instead of touching the machine. */
  board: z.enum(['linux', 'simulated']).default('linux'),
  boardSocket: filePath().optional(),
  /** Kernel interface of GPIO lines; `auto` is the character device. */
  gpio: z.enum(['auto', 'sysfs', 'character-device']).default('auto'),
});

export const statusSchema = section({
  /** `lan` needs a PIN, and speaks TLS alone. */
  page: z.enum(['off', 'loopback', 'lan']).default('loopback'),
  port: whole(0, 65_535).default(8_088),
  ...secretFields('pin'),
  /**
   * Outputs can be set and released on the page, by who knows the PIN; they count as an operator's on site. The configuration can be changed there where
   * remoteConfiguration is enabled.
   */
  control: z.boolean().default(false),
  /** /metrics in Prometheus' form, /healthz, /readyz. */
  metrics: z.boolean().default(true),
  /** The same numbers as telemetry, this often; not at all when it is not given. */
  telemetryPeriod: duration({ min: '1s', max: '1d' }).meta(LIVE).optional(),
});

export const shutdownSchema = section({
  /** How long SIGTERM waits for readings to be made durable and sent. */
  drain: duration({ max: '5m' }).prefault('10s'),
});

const analyticsFields = {
  /** Where to log in, when it is another server than `url`. */
  authUrl: url().optional(),
  /** Differs between releases of the service: /apiAnalytics or /apiTrendz. */
  basePath: z.string().startsWith('/').max(255).default('/apiAnalytics'),
  user: z.string().min(1).max(255).optional(),
  ...secretFields('password'),
  tokenIn: z.enum(['header', 'query']).default('header'),
  caFile: existingFile().optional(),
  requestTimeout: duration({ min: '1s', max: '1h' }).prefault('2m'),
  /** How long repeats after 429 may go on. */
  deadline: duration({ min: '1s', max: '1d' }).prefault('10m'),
};

export const analyticsSchema = section({ url: url(), ...analyticsFields });
/** For who is told of the service elsewhere. */
export const analyticsDefaults = () => section(analyticsFields).parse({});

export type LogConfig = z.infer<typeof logSchema>;
export type HardwareConfig = z.infer<typeof hardwareSchema>;
export type StatusConfig = z.infer<typeof statusSchema>;
export type ShutdownConfig = z.infer<typeof shutdownSchema>;
export type AnalyticsConfig = z.infer<typeof analyticsSchema>;
