/** DS18B20 and its kin. Key `temperature` (°C). */
import { pathText } from '../../config/fields/config-fault.ts';
import { text, whole } from '../../config/fields/fields.ts';
import { type Finding, type Placed, repeated } from '../../config/fields/findings.ts';
import { type ConfigOf, defineSensor, sensorSection } from '../kind/definition.ts';

const schema = sensorSection('ds18b20', () => ({
  /** As /sys/bus/w1/devices names it. */
  id: text(/^28-[0-9a-f]{12}$/, 'an id such as 28-0316a2794aff, from /sys/bus/w1/devices').optional(),
  resolution: whole(9, 12).optional(),
}));

export type Ds18b20Config = ConfigOf<typeof schema>;
export const UNITS = { temperature: '°C' } as const;

export const ds18b20 = defineSensor({
  schema,
  driver: () => import('./driver.ts'),
  twin: () => import('./twin.ts'),
  units: UNITS,
  // Steps of 1/16 °C (DS18B20, table 2).
  digits: { temperature: 2 },
  faultsAmong: sharedThermometers,
  oneWireFamily: '28',
  remedy: () => 'check the data line’s pull-up resistor (4.7 kΩ); turnstone scan one-wire shows who answers',
  device: {
    path: '/sys/bus/w1/devices',
    enable: 'enable the one-wire bus (on a Raspberry Pi: dtoverlay=w1-gpio in config.txt, then reboot)',
  },
});

function sharedThermometers(sensors: readonly Placed<Ds18b20Config>[]): Finding[] {
  const named = sensors.flatMap(({ config: { id }, path }) => (id === undefined ? [] : [{ id, path }]));
  const anyOne = sensors.length === 1 ? [] : sensors.filter(({ config }) => config.id === undefined);
  return [
    ...repeated(
      named,
      ({ id }) => id,
      ({ id, path }, first) => ({
        path: [...path, 'id'],
        problem: 'two sensors on one thermometer:',
        value: id,
        expected: `an id of its own; ${pathText(first.path)} has it already`,
      }),
    ),
    ...anyOne.map(({ path }) => ({
      path: [...path, 'kind'],
      problem: 'no id, and several thermometers:',
      expected: 'id: beside it',
    })),
  ];
}
