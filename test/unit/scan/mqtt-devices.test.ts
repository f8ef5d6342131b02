/** Announcements at a broker as four families make them, and sections of them that a configuration takes. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { mqttLines } from '../../../src/cli/scan-mqtt.ts';
import { FreeNames } from '../../../src/scan/free-names.ts';
import { proposalsFrom } from '../../../src/scan/mqtt-devices.ts';
import { configOf, SMALLEST } from '../../support/config-file.ts';

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
