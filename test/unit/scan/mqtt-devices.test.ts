/** Announcements at a broker as four families make them, and sections of them that a configuration takes. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { mqttLines } from '../../../src/cli/scan-mqtt.ts';
import type { MqttConnection } from '../../../src/hardware/mqtt-port.ts';
import { FreeNames } from '../../../src/scan/free-names.ts';
import { listenAtBroker, proposalsFrom } from '../../../src/scan/mqtt-devices.ts';
import { matchesFilter } from '../../../src/values/mqtt-topics.ts';
import { configOf, SMALLEST } from '../../support/config-file.ts';
import { FakeClock } from '../../support/fake-clock.ts';

const recorded = JSON.parse(await readFile(join(import.meta.dirname, '../../fixtures/mqtt/announcements.json'), 'utf8'))
  .messages as Readonly<Record<string, unknown>>;
const messages = asTexts(recorded);

function asTexts(told: Readonly<Record<string, unknown>>): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(told).map(([topic, one]) => [topic, typeof one === 'string' ? one : JSON.stringify(one)]),
  );
}

function found(heard: ReadonlyMap<string, string>, hasDevices = false) {
  return proposalsFrom(heard, { broker: 'house', names: new FreeNames(), hasDevices });
}

describe('devices at a broker', () => {
  it('are proposed once each, whoever else announces them', () => {
    expect(found(messages).map(({ family, slot, model }) => [family, slot, model])).toEqual([
      ['Zigbee2MQTT', 'my_plug', 'Xiaomi ZNCZ02LM'],
      ['Zigbee2MQTT', 'hall_radiator', 'Maker TRV'],
      ['Tasmota', 'Tasmota', 'Sonoff Basic'],
      ['Shelly', 'shelly1pm_000000', 'SHSW-PM'],
      ['Shelly', 'shellies_plus1pm', undefined],
      ['Home Assistant', 'device_000000', undefined],
    ]);
  });

  it('have sensors with places and units, and outputs with the topic of their state', () => {
    const [plug, radiator, tasmota, first, plus, boiler] = found(messages);
    expect(plug?.sensors).toEqual([
      {
        name: 'my_plug',
        kind: 'mqtt',
        broker: 'house',
        topic: 'zigbee2mqtt/my_plug',
        period: '1h',
        prefix: 'my_plug.',
        paths: { state: 'state', power: 'power', energy: 'energy', linkquality: 'linkquality' },
        availability: { topic: 'zigbee2mqtt/my_plug/availability', path: 'state' },
        keys: { power: { unit: 'W' }, energy: { unit: 'kWh' }, linkquality: { unit: 'lqi' } },
      },
    ]);
    expect(plug?.outputs).toMatchObject([
      {
        topic: 'zigbee2mqtt/my_plug/set',
        send: { on: '{"state":"ON"}', off: '{"state":"OFF"}' },
        stateTopic: 'zigbee2mqtt/my_plug',
        statePath: 'state',
        states: { on: 'ON', off: 'OFF' },
      },
    ]);
    expect(radiator?.outputs).toMatchObject([
      { template: '{"occupied_heating_setpoint": {value}}', limits: { min: 5, max: 30, step: 0.5 } },
    ]);
    expect(tasmota?.sensors).toMatchObject([
      {
        topic: 'tasmota_49A3BC/tele/SENSOR',
        paths: { DS18B20_Temperature: 'DS18B20.Temperature', ENERGY_Voltage_1: 'ENERGY.Voltage[1]' },
        keys: { DS18B20_Temperature: { unit: '°C' }, ENERGY_Total: { unit: 'kWh' }, DHT11_Humidity: { unit: '%' } },
        availability: { topic: 'tasmota_49A3BC/tele/LWT', online: 'Online', offline: 'Offline' },
      },
    ]);
    expect(tasmota?.outputs).toMatchObject([
      { topic: 'tasmota_49A3BC/cmnd/POWER', stateTopic: 'tasmota_49A3BC/stat/POWER' },
    ]);
    expect(first).toMatchObject({
      sensors: [{ topic: 'shellies/shelly1pm-000000/relay/0/power', format: 'number', key: 'power' }],
      outputs: [
        {
          topic: 'shellies/shelly1pm-000000/relay/0/command',
          stateTopic: 'shellies/shelly1pm-000000/relay/0',
          send: { on: 'on', off: 'off' },
        },
      ],
    });
    expect(plus).toMatchObject({
      sensors: [{ paths: { power: 'apower', energyImport: 'aenergy.total', temperature: 'temperature.tC' } }],
      outputs: [{ topic: 'shellies/plus1pm/command/switch:0', statePath: 'output' }],
    });
    expect(boiler).toMatchObject({
      sensors: [{ topic: 'tele/boiler/SENSOR', paths: { OPENTHERM_OT10_lo: 'OPENTHERM.OT10.lo' } }],
      outputs: [{ topic: 'boiler/pump/set', stateTopic: 'boiler/pump/state', send: { on: '1', off: '0' } }],
    });
  });

  it.each([false, true])(
    'make sections that a configuration takes, as devices of their own: %s',
    async (hasDevices) => {
      const all = found(messages, hasDevices);
      const devices = hasDevices
        ? `devices:\n${all.map(({ slot }) => `  - { name: ${slot}, accessToken: token-${slot} }\n`).join('')}`
        : '';
      const config = await configOf(
        `${SMALLEST}brokers: [{ name: house, url: "mqtt://broker" }]\n${devices}${mqttLines(all)}`,
      );
      expect(config.sensors.filter(({ kind }) => kind === 'mqtt')).toHaveLength(6);
      expect(config.actuators).toHaveLength(6);
      expect(config.actuators.map((one) => ('send' in one ? one.send : undefined))).toContainEqual({
        on: '1',
        off: '0',
      });
    },
  );

  it.each([
    ['{{ value_json.x }}', { unit: 'V' }],
    ['{{- value_json.x -}}', { unit: 'V' }],
    ['{{ value_json.x | float(0) | round(1) | default(none) | is_defined | int }}', { unit: 'V' }],
    ['{{ (value_json.x | float) / 10 }}', { scale: 0.1, unit: 'V' }],
    ['{{ (value_json.x*1000)|round(2) }}', { scale: 1_000, unit: 'V' }],
    ['{{ value_json.x | multiply( 0.01 ) / 4 }}', { scale: 0.0025, unit: 'V' }],
  ])('have a value with what Home Assistant makes of it: %s', async (template, rules) => {
    const config = { stat_t: 'meter', val_tpl: template, unit_of_meas: 'V', dev: { name: 'meter' } };
    const all = found(asTexts({ 'homeassistant/sensor/x/config': config }));
    expect(all[0]?.sensors).toMatchObject([{ paths: { x: 'x' }, keys: { x: rules } }]);
    const { sensors } = await configOf(
      `${SMALLEST}brokers: [{ name: house, url: "mqtt://broker" }]\n${mqttLines(all)}`,
    );
    expect(sensors).toHaveLength(1);
  });

  it.each([
    "{{ value_json.x | replace('1', '') }}",
    '{{ value_json.x + 1 }}',
    '{{ value_json.x ** 2 }}',
    '{{ value_json.x * -1 }}',
    '{{ value_json.x / 0 }}',
    '{{ value_json.x * value_json.y }}',
    '{{ value | multiply(10) | string }}',
    "{{ 'on' if value_json.x else 'off' }}",
  ])('have a comment in place of a value whose template is not understood: %s', async (template) => {
    const config = { stat_t: 'meter', val_tpl: template, unit_of_meas: 'V', dev: { name: 'meter' } };
    const lines = mqttLines(found(asTexts({ 'homeassistant/sensor/x/config': config }), true));
    expect(lines).toBe(
      `sensors: []\n  # meter: x at meter is left out, as its template is not understood: ${template}\n`,
    );
    await configOf(`${SMALLEST}${lines}`);
  });

  it('have no output whose state is not understood, and say so', () => {
    const config = { cmd_t: 'pump/set', stat_t: 'pump', val_tpl: '{{ value_json.x * 10 }}', dev: { name: 'pump' } };
    const all = found(asTexts({ 'homeassistant/number/x/config': config, 'homeassistant/switch/y/config': config }));
    expect(all[0]?.outputs).toEqual([]);
    expect(mqttLines(all).match(/pump: [xy] at pump\/set is left out/g)).toHaveLength(2);
  });

  it('have the topic of their availability, also with a name of several levels', async () => {
    const exposes = [{ type: 'numeric', property: 'temperature', access: 1 }];
    const heard = asTexts({
      'zigbee2mqtt/bridge/devices': [{ friendly_name: 'cellar/left/sensor', definition: { exposes } }],
      'zigbee2mqtt/cellar/left/sensor/availability': { state: 'online' },
    });
    const connection: Pick<MqttConnection, 'outage' | 'subscribe' | 'close'> = {
      outage: undefined,
      subscribe: (filter, listener) => {
        for (const [topic, text] of heard)
          if (matchesFilter(filter, topic)) void listener({ topic, payload: Buffer.from(text), isRetained: true });
        return () => {};
      },
      close: async () => {},
    };
    const mqtt = { open: async () => connection as MqttConnection, close: async () => {} };
    const settings = { name: 'house', url: 'mqtt://b', version: '5', keepAliveMs: 1, maxPacketBytes: 1 } as const;
    const clock = new FakeClock();
    const listening = listenAtBroker({ mqtt, clock }, { settings, forMs: 10 }, new AbortController().signal);
    await clock.advance(100);
    expect(found((await listening).messages)[0]?.sensors).toMatchObject([
      { availability: { topic: 'zigbee2mqtt/cellar/left/sensor/availability', path: 'state' } },
    ]);
  });

  it('that announce nonsense, or what would be another section, are left out', () => {
    const evil = 'x", kind: command, program: /bin/sh # \n- $HOME';
    const heard = asTexts({
      'zigbee2mqtt/bridge/devices': [
        null,
        7,
        { friendly_name: 'a/+', definition: { exposes: [{ type: 'numeric', property: 'p', access: 1 }] } },
        { friendly_name: evil, definition: { exposes: [{ type: 'numeric', property: evil, access: 1, unit: evil }] } },
        { friendly_name: 'deep', definition: { exposes: 'none' } },
      ],
      'tasmota/discovery/1/config': { t: '#', ft: '%topic%/%prefix%/', rl: [1], dn: 'hash' },
      'homeassistant/switch/x/config': { cmd_t: 'a/#', stat_t: 'b' },
      'homeassistant/sensor/y/config': '['.repeat(100_000),
      'x/status/switch:0': '{"output": "on"}',
    });
    const lines = mqttLines(found(heard));
    expect(lines).not.toMatch(/^\s*(?:-|kind:).*kind: command/m);
    expect(lines).not.toMatch(/[^$]\$\{HOME\}/);
    expect(
      lines
        .split('\n')
        .filter((line) => line.startsWith('  - '))
        .every((line) => line.includes('kind: mqtt')),
    ).toBe(true);
  });
});
