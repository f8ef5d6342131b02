/** A satellite receiver. Keys `latitude`, `longitude`, `altitude`, `speed`, `course`, `satellites`, `fix`. */
import { z } from 'zod';
import { serialPortFields } from '../../config/fields/lines-and-ports.ts';
import { type ConfigOf, defineSensor, sensorSection } from '../kind/definition.ts';

const schema = sensorSection('nmea', {
  ...serialPortFields,
  /** True when the receiver's own time stamps the readings. */
  useReceiverTime: z.boolean().default(true),
});

export type NmeaConfig = ConfigOf<typeof schema>;
export const UNITS = { latitude: '°', longitude: '°', altitude: 'm', speed: 'km/h', course: '°', satellites: null, fix: null } as const;

export const nmea = defineSensor({
  schema,
  driver: () => import('./driver.ts'),
  twin: () => import('./twin.ts'),
  units: UNITS,
  valueType: (_config, key) => (key === 'fix' ? 'string' : 'number'),
});
