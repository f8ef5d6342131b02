/** config/thingsboard is what platform-setup makes, holds no secret, and can be imported. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import vm from 'node:vm';
import { describe, expect, it } from 'vitest';
import { PLATFORM_FOLDER, platformFiles } from '../../../scripts/platform-files.ts';
import { alarmRules } from '../../../src/office/platform-setup/alarm-rules.ts';

interface Dashboard {
  readonly configuration: {
    readonly widgets: Readonly<Record<string, WidgetJson>>;
    readonly states: Readonly<
      Record<string, { readonly layouts: { readonly main: { readonly widgets: Readonly<Record<string, Place>> } } }>
    >;
    readonly entityAliases: Readonly<
      Record<string, { readonly filter: { readonly type: string; readonly deviceTypes?: readonly string[] } }>
    >;
  };
}
interface Place {
  readonly sizeX: number;
  readonly sizeY: number;
  readonly row: number;
  readonly col: number;
}
interface WidgetJson {
  readonly id: string;
  readonly type: string;
  readonly typeFullFqn: string;
  readonly config: {
    readonly targetDevice?: { readonly entityAliasId: string };
    readonly settings: Readonly<Record<string, unknown>>;
    readonly datasources?: readonly { readonly dataKeys: readonly Readonly<Record<string, unknown>>[] }[];
  };
}

const files = platformFiles();
const readJson = <T>(name: string): T => JSON.parse(readFileSync(join(PLATFORM_FOLDER, name), 'utf8')) as T;

it('is the same as its sources say: npm run platform:files writes it', () => {
  const there = readdirSync(PLATFORM_FOLDER).map(
    (name) => [name, readFileSync(join(PLATFORM_FOLDER, name), 'utf8')] as const,
  );
  expect(new Map(there)).toEqual(new Map([...files].sort(([a], [b]) => (a < b ? -1 : 1))));
});

it('has a profile without key and secret, which no device can use before a person has made them', () => {
  expect(readJson('device-profile.json')).toMatchObject({
    provisionType: 'DISABLED',
    provisionDeviceKey: null,
    transportType: 'DEFAULT',
    type: 'DEFAULT',
    profileData: {
      transportConfiguration: { type: 'DEFAULT' },
      provisionConfiguration: { provisionDeviceSecret: null },
    },
  });
});

describe.each(['gateway-dashboard.json', 'sensor-dashboard.json'])('%s', (name) => {
  const { widgets, states, entityAliases } = readJson<Dashboard>(name).configuration;
  const layouts = Object.values(states).map(({ layouts: { main } }) => main.widgets);

  it('fits any gateway of the profile: by the type of the device alone', () => {
    const filters = Object.values(entityAliases).map(({ filter }) => filter);
    expect(filters.map(({ type }) => type)).toEqual(['deviceType', 'stateEntity']);
    expect(filters[0]?.deviceTypes).toEqual(['Turnstone gateway']);
    const used = [...JSON.stringify(widgets).matchAll(/"entityAliasId":"([^"]+)"/g)].map(([, id]) => id);
    expect([...new Set(used)].sort()).toEqual(Object.keys(entityAliases).sort());
  });

  it('places each of its widgets once, inside of the grid, and none upon another', () => {
    expect(layouts.flatMap((places) => Object.keys(places)).sort()).toEqual(Object.keys(widgets).sort());
    for (const places of layouts) {
      const cells = Object.values(places).flatMap(({ row, col, sizeX, sizeY }) =>
        Array.from({ length: sizeX * sizeY }, (_, at) => `${row + Math.floor(at / sizeX)}/${col + (at % sizeX)}`),
      );
      expect(new Set(cells).size).toBe(cells.length);
      expect(Math.max(...Object.values(places).map(({ col, sizeX }) => col + sizeX))).toBeLessThanOrEqual(24);
    }
  });
});

/** The platform's own widgets of 4.3.1.3 that are used, each with its type: `application/src/main/data/json/system/widget_types` there. */
const WIDGETS_OF_PLATFORM: Readonly<Record<string, string>> = {
  'system.cards.entities_table': 'latest',
  'system.cards.value_card': 'latest',
  'system.cards.timeseries_table': 'timeseries',
  'system.cards.attributes_card': 'latest',
  'system.time_series_chart': 'timeseries',
  'system.alarm_widgets.alarms_table': 'alarm',
  'system.control_widgets.switch_control': 'rpc',
  'system.control_widgets.knob_control': 'rpc',
  'system.control_widgets.led_indicator': 'rpc',
  'system.control_widgets.rpcbutton': 'rpc',
  'system.single_switch': 'rpc',
  'system.gpio_widgets.basic_gpio_control': 'rpc',
};

it('uses widgets that the platform has, as what they are', () => {
  for (const name of ['gateway-dashboard.json', 'sensor-dashboard.json'])
    for (const { typeFullFqn, type } of Object.values(readJson<Dashboard>(name).configuration.widgets))
      expect([typeFullFqn, type]).toEqual([typeFullFqn, WIDGETS_OF_PLATFORM[typeFullFqn]]);
});

it('has a legend with its own settings in each chart: the page has none ready in time, and the chart would fail', () => {
  for (const name of ['gateway-dashboard.json', 'sensor-dashboard.json']) {
    const charts = Object.values(readJson<Dashboard>(name).configuration.widgets).filter(
      ({ type }) => type === 'timeseries',
    );
    const shown = charts.filter(({ config }) => config.settings.showLegend === true);
    expect(shown.length).toBeGreaterThan(0);
    for (const { config } of shown)
      expect(config.settings.legendConfig).toMatchObject({ position: 'top', showLatest: true });
  }
});

it('shows the parts of a configuration’s state, of an object and of its text, and no markup of a gateway', () => {
  const { widgets } = readJson<Dashboard>('gateway-dashboard.json').configuration;
  const card = Object.values(widgets).find(({ typeFullFqn }) => typeFullFqn === 'system.cards.attributes_card');
  const told = {
    state: 'refused',
    hash: 'ab'.repeat(32),
    atMs: 1,
    origin: 'package',
    package: { title: 'turnstone-configuration', version: '3' },
    reason: '<img src=x onerror=alert(1)>',
    faults: [{ path: 'sensors[0].period', line: 5, problem: 'wrong value' }],
  };
  const shown = (value: unknown) =>
    (card?.config.datasources?.[0]?.dataKeys ?? [])
      .filter(({ name }) => name === 'configurationState')
      .map(({ label, postFuncBody }) => [label, vm.runInNewContext(`(function (value) { ${postFuncBody} })`)(value)]);
  const parts = shown(told);
  expect(parts).toEqual([
    ['Last from afar', 'refused'],
    ['Since', expect.stringContaining('1970')],
    ['Of', 'turnstone-configuration 3'],
    ['Its file', 'abababababab'],
    ['Reason', '&#60;img src=x onerror=alert(1)&#62;'],
    ['Faults', 'line 5, sensors[0].period: wrong value'],
  ]);
  expect(shown(JSON.stringify(told))).toEqual(parts);
  for (const nothing of ['', undefined, 'no JSON'])
    expect(new Set(shown(nothing).map(([, words]) => words))).toEqual(new Set(['']));
});

it('commands outputs by six widgets, with the methods that the agent answers', () => {
  const { widgets } = readJson<Dashboard>('gateway-dashboard.json').configuration;
  const outputs = Object.values(widgets).filter(({ type }) => type === 'rpc');
  const told = readFileSync(join(PLATFORM_FOLDER, '../../src/rpc/WIDGETS.md'), 'utf8');
  const methods = [...JSON.stringify(outputs).matchAll(/"(?:[a-zA-Z]*[mM]ethod|methodName)":"([a-z][A-Za-z]+)"/g)].map(
    ([, method]) => method,
  );
  expect(outputs.length).toBe(6);
  expect(new Set(outputs.map(({ typeFullFqn }) => typeFullFqn)).size).toBe(6);
  const named = methods.filter((method) => method !== 'rpc' && method !== 'attribute');
  expect([...new Set(named)].sort()).toEqual(['checkStatus', 'getGpioStatus', 'getValue', 'setGpioStatus', 'setValue']);
  for (const method of named) expect(told).toContain(`\`${method}\``);
});

it('has a rule that ends for each that begins, with one key each but for no contact', () => {
  for (const rule of alarmRules(['temperature_alarm', 'roof_state', 'temperature', 'fw_state'])) {
    const { arguments: keys, createRules, clearRule } = rule.configuration as Record<string, Record<string, unknown>>;
    const further = rule.name === 'Turnstone: no contact' ? ['lastActivityTime', 'inactivityAlarmTime'] : [];
    expect([
      Object.keys(keys ?? {}),
      Object.keys(createRules ?? {}).length,
      clearRule?.condition !== undefined,
    ]).toEqual([['value', ...further], 1, true]);
  }
  const ownNumbers = ['outboxLaneEntries_alarm', 'actuatorUp_pump_state', 'deviceHeldEntries_alarm'];
  expect(
    alarmRules(['temperature_alarm', 'roof_state', 'temperature', 'fw_state', ...ownNumbers]).map(({ name }) => name),
  ).toEqual([...alarmRules([]).map(({ name }) => name), ...['Sensor fails: roof', 'Alarm: temperature']]);
  const labels = new Map([
    ['a_alarm', 'Air'],
    ['b_alarm', 'Air'],
    ['roof_state', 'Weather'],
  ]);
  expect(
    alarmRules(['a_alarm', 'b_alarm', 'c_alarm', 'roof_state'], labels)
      .slice(alarmRules([]).length)
      .map(({ name }) => name),
  ).toEqual(['Alarm: Air (a_alarm)', 'Alarm: Air (b_alarm)', 'Alarm: c', 'Sensor fails: Weather']);
});
