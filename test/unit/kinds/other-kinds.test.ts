/** Kinds that people write and that have no driver here: each is told the way that works, in lines that check-config takes. */

import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { actuatorSchema } from '../../../src/config/schema/actuators.ts';
import { sensorSchema } from '../../../src/config/schema/sensors.ts';
import { ACTUATOR_KINDS } from '../../../src/kinds/actuator-kinds.ts';
import { loadingOf, otherKind, wayOf } from '../../../src/kinds/other-kinds.ts';
import { SENSOR_KINDS } from '../../../src/kinds/sensor-kinds.ts';
import { configOf, SMALLEST } from '../../support/config-file.ts';

const KNOWN = {
  sensors: SENSOR_KINDS.map(({ kind }) => kind),
  actuators: ACTUATOR_KINDS.map(({ kind }) => kind),
};
const told = (written: string, list: 'sensors' | 'actuators' = 'sensors') =>
  wayOf({ written, list, known: KNOWN[list] });

const SENSORS =
  'scd4x scd30 bme680 bme688 sht4x sht2x aht20 htu21 max31865 max31855 max6675 ads1015 hx711 dht22 dht11 am2302 ina226 ina3221 ina260 tsl2591 vl53l0x mpu6050 mcp3008 mcp3208 mcp9600 bmp388 si7021 tmp117 lm75a rtl433 ble ruuvi can zigbee2mqtt shelly tasmota snmp wmbus knx bacnet opcua'.split(
    ' ',
  );
const EXPANDERS = ['mcp23017', 'pcf8574', 'pca9555'];

it.each(SENSORS)('tells of %s with a section that this house understands', (written) => {
  const way = told(written) ?? '';
  const line = /- (\{ name: .* \})/.exec(way)?.[1] ?? '';
  expect(sensorSchema.safeParse(parse(line)).error, way).toBeUndefined();
});

it.each(['zigbee2mqtt', 'zigbee', 'tasmota', 'shelly', 'esphome', 'knx', 'can'])(
  'tells of outputs of %s with a section that a configuration takes',
  async (written) => {
    const way = told(written, 'actuators') ?? '';
    const [section = '', brokers] = [/ - (\{ name: .* \})$/.exec(way)?.[1], /\((brokers: .*?\])\)/.exec(way)?.[1]];
    const { actuators } = await configOf(
      `${SMALLEST}${brokers ?? ''}\nactuators:\n  - ${section.replace(/\/usr\/local\/bin\/[\w-]+/, '/bin/sh')}\n`,
    );
    expect(actuators).toMatchObject([brokers === undefined ? { kind: 'process' } : { kind: 'mqtt', broker: 'house' }]);
  },
);

it('tells nothing of outputs of what has none', () => {
  expect(['ruuvi', 'wmbus', 'snmp'].map((written) => told(written, 'actuators'))).toEqual([
    undefined,
    undefined,
    undefined,
  ]);
});

it.each(EXPANDERS)('tells of %s as inputs and as outputs, by the label of its chip', (written) => {
  for (const [list, schema] of [
    ['sensors', sensorSchema],
    ['actuators', actuatorSchema],
  ] as const) {
    const way = told(written, list) ?? '';
    const line = /- (\{ name: .*? \} \})/.exec(way)?.[1] ?? '';
    expect(schema.safeParse(parse(line)).error, way).toBeUndefined();
  }
});

it('tells of a PCA9685 as outputs, by the name of its device', () => {
  const way = told('pca9685', 'actuators') ?? '';
  expect(way).toContain('dtoverlay=i2c-pwm-pca9685a,addr=0x40');
  expect(actuatorSchema.safeParse(parse(/- (\{.*\})/.exec(way)?.[1] ?? '')).data).toMatchObject({ chip: '1-0040' });
});

it('knows a kind in any spelling, says nothing of one that nobody knows, and nothing of the kinds of this house', () => {
  expect(['BME-680', 'bme_680', 'Zigbee2MQTT'].map((word) => otherKind(word)?.word)).toEqual([
    'bme680',
    'bme680',
    'zigbee2mqtt',
  ]);
  expect([told('bme28'), told('constructor'), told('gpio-inptu')]).toEqual([undefined, undefined, undefined]);
  expect(wayOf({ written: 'mqtt', list: 'sensors', known: ['mqtt', 'command'] })).toBeUndefined();
  expect(wayOf({ written: 'can', list: 'sensors', known: ['process', 'command'] })).toContain('kind: process');
  expect(KNOWN.sensors.filter((kind) => told(kind) !== undefined)).toEqual([]);
});

it('is told where the fault stands, in place of the next best spelling', async () => {
  const refused = (list: string) =>
    configOf(`${SMALLEST}${list}`).then(
      () => '',
      (error: Error) => error.message,
    );
  expect(await refused('sensors: [{ name: air, kind: bme680 }]\n')).toMatch(
    /sensors\[0\]\.kind: .*; the kernel reads it: dtoverlay=i2c-sensor,bme680 in config\.txt.*- \{ name: bme680, kind: iio, chip: bme680 \}$/,
  );
  expect(await refused('sensors: [{ name: air, kind: bme28 }]\n')).toMatch(/did you mean "bme280"\?/);
  expect(await refused('actuators: [{ name: relay, kind: mcp23017 }]\n')).toMatch(
    /kind: gpio-output, line: \{ chip: mcp23017, offset: 0 \}/,
  );
});

it('knows what loads the driver of a chip that a section names', () => {
  expect(loadingOf('sht4x', 'hwmon')).toMatchObject({
    text: expect.stringMatching(/i2c-sensor,sht4x/),
    addresses: [0x44, 0x45, 0x46],
  });
  expect(loadingOf('scd41', 'iio')?.text).toContain('echo scd41 0x62 > /sys/bus/i2c/devices/i2c-1/new_device');
  expect(loadingOf('bme688', 'iio')?.text).toBe('its driver calls it chip: bme680');
  expect(loadingOf('scd14', 'iio')?.text).toBe('did you mean chip: scd41?');
  expect(loadingOf('nothing-like-it', 'iio')).toBeUndefined();
});
