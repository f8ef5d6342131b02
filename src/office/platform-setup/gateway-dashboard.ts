/** The gateway dashboard: health, outbox, link, firmware, configuration and outputs. Its keys are those of status.telemetryPeriod, of updates and of the identity. */
import type { JsonObject } from '../../values/json.ts';
import {
  chart,
  type DataKey,
  DEVICES,
  dashboard,
  deviceTable,
  type Place,
  source,
  THIS_DEVICE,
  type Widget,
  widget,
} from './dashboard-parts.ts';

/** Row of the six widgets for outputs. */
const OUTPUTS_ROW = 24;
/** The newer widgets wait this long for a reply; the older ones 500 ms, which a line by radio does not keep. */
const RPC_TIMEOUT_MS = 5_000;

/** The card writes what it shows as HTML, and whoever has a gateway writes its attributes. */
const AS_TEXT =
  "function text(words) { return String(words || '').replace(/[&<>\"']/g, function (sign) { return '&#' + sign.charCodeAt(0) + ';'; }); }";

const ALL: readonly DataKey[] = [
  { key: 'active', label: 'In contact', type: 'attribute' },
  { key: 'version', label: 'Version', type: 'attribute' },
  { key: 'model', label: 'Board', type: 'attribute' },
  { key: 'outboxHeldEntries', label: 'Entries that wait' },
  { key: 'alerts', label: 'Alerts' },
  { key: 'fw_state', label: 'Update' },
  told('Configuration', 'return text(told.state);'),
];

/** @param output attribute that tells the state of a gateway's only output. */
export function gatewayDashboard(profile: string, { output }: { readonly output?: string } = {}): JsonObject {
  return dashboard({
    title: profile,
    deviceType: profile,
    all: [
      deviceTable('gateways', 'Gateways', { row: 0, col: 0, width: 24, height: 8 }, ALL),
      alarmTable('alarms of all', { row: 8, col: 0, width: 24, height: 7 }, DEVICES),
    ],
    one: [
      card({ key: 'upToDate', label: 'Up to date (1) or not (0)' }, 'cloud_done', 0),
      card({ key: 'outboxHeldEntries', label: 'Entries that wait' }, 'inventory_2', 4),
      card({ key: 'alerts', label: 'Alerts' }, 'warning', 8),
      card({ key: 'outboxRoomSeconds', label: 'Room for an outage', unit: 's' }, 'hourglass_bottom', 12),
      card({ key: 'lockedOut', label: 'Locked out (1) or not (0)' }, 'lock', 16),
      card({ key: 'fw_state', label: 'Update' }, 'system_update', 20),
      chart('outbox', 'Outbox: entries', { row: 3, col: 0, width: 12, height: 5 }, [
        { key: 'outboxHeldEntries', label: 'wait' },
        { key: 'outboxThinnedEntriesTotal', label: 'thinned' },
        { key: 'outboxDroppedEntriesTotal', label: 'dropped' },
        { key: 'outboxRejectedEntriesTotal', label: 'refused by the platform' },
        { key: 'outboxDamagedEntriesTotal', label: 'damaged' },
      ]),
      chart('link', 'Link: age of the last acknowledgement', { row: 3, col: 12, width: 12, height: 5 }, [
        { key: 'uploadLastAcknowledgedAgeSeconds', label: 'age', unit: 's' },
        { key: 'uploadFailures', label: 'failures in a row' },
      ]),
      chart('traffic', 'Link: bytes of today', { row: 8, col: 0, width: 12, height: 5 }, [
        { key: 'linkTodayBytes', label: 'carried', unit: 'B' },
      ]),
      chart('memory', 'Health: memory', { row: 8, col: 12, width: 12, height: 5 }, [
        { key: 'processResidentMemoryBytes', label: 'resident', unit: 'B' },
        { key: 'nodejsHeapSizeUsedBytes', label: 'heap', unit: 'B' },
      ]),
      firmwareTable({ row: 13, col: 0, width: 12, height: 6 }),
      alarmTable('alarms of one', { row: 13, col: 12, width: 12, height: 6 }, THIS_DEVICE),
      configurationCard({ row: 19, col: 0, width: 12, height: 5 }),
      softwareTable({ row: 19, col: 12, width: 12, height: 5 }),
      ...outputs(output),
    ],
  });
}

function card(key: DataKey, icon: string, col: number): Widget {
  return widget(
    `card ${key.key}`,
    { row: 0, col, width: 4, height: 3 },
    {
      type: 'latest',
      fqn: 'cards.value_card',
      title: key.label,
      settings: { layout: 'vertical', showLabel: true, showIcon: true, icon, showDate: true, autoScale: true },
      more: {
        showTitle: false,
        datasources: [source(THIS_DEVICE, [key])],
        ...(key.unit !== undefined && { units: key.unit }),
        decimals: 0,
      },
    },
  );
}

/** A part of the attribute `configurationState`, which the page has as an object or as its text. */
function told(label: string, body: string): DataKey {
  const parse =
    "var told = value; if (typeof told === 'string') { try { told = JSON.parse(told); } catch (e) { told = null; } }";
  return {
    key: 'configurationState',
    label,
    type: 'attribute',
    show: `${parse} if (!told) { return ''; } ${AS_TEXT} ${body}`,
  };
}

function configurationCard(place: Place): Widget {
  const keys: readonly DataKey[] = [
    {
      key: 'configFileHash',
      label: 'File that runs',
      type: 'attribute',
      show: `${AS_TEXT} return text(value).slice(0, 12);`,
    },
    told('Last from afar', 'return text(told.state);'),
    told('Since', "return told.atMs > 0 ? new Date(told.atMs).toLocaleString() : '';"),
    told('Of', "return text(told.package ? told.package.title + ' ' + told.package.version : told.origin);"),
    told('Its file', 'return text(told.hash).slice(0, 12);'),
    told('Reason', 'return text(told.reason);'),
    told(
      'Faults',
      "return text((told.faults || []).map(function (one) { return (one.line ? 'line ' + one.line + ', ' : '') + one.path + ': ' + one.problem; }).join('; '));",
    ),
  ];
  return widget('configuration', place, {
    type: 'latest',
    fqn: 'cards.attributes_card',
    title: 'Configuration',
    more: { datasources: [source(THIS_DEVICE, keys)] },
  });
}

function softwareTable(place: Place): Widget {
  return packageTable('software', 'Software packages, configurations among them', place, [
    { key: 'current_sw_version', label: 'In place' },
    { key: 'target_sw_version', label: 'Is to be' },
    { key: 'sw_state', label: 'State' },
    { key: 'sw_error', label: 'Error' },
  ]);
}

function firmwareTable(place: Place): Widget {
  return packageTable('firmware', 'Firmware', place, [
    { key: 'current_fw_version', label: 'Runs' },
    { key: 'target_fw_version', label: 'Is to run' },
    { key: 'fw_state', label: 'State' },
    { key: 'fw_error', label: 'Error' },
  ]);
}

function packageTable(name: string, title: string, place: Place, keys: readonly DataKey[]): Widget {
  return widget(name, place, {
    type: 'timeseries',
    fqn: 'cards.timeseries_table',
    title,
    settings: { showTimestamp: true, displayPagination: true, defaultPageSize: 10, hideEmptyLines: true },
    more: {
      datasources: [source(THIS_DEVICE, keys)],
      useDashboardTimewindow: false,
      displayTimewindow: true,
      timewindow: MONTH,
    },
  });
}

const MONTH: JsonObject = {
  displayValue: '',
  selectedTab: 0,
  hideAggregation: false,
  hideAggInterval: false,
  hideTimezone: false,
  realtime: { realtimeType: 0, interval: 1_000, timewindowMs: 2_592_000_000, quickInterval: 'CURRENT_DAY' },
  aggregation: { type: 'NONE', limit: 200 },
};

function alarmTable(name: string, place: Place, entityAliasId: string): Widget {
  const columns = [
    ['createdTime', 'Since'],
    ['originator', 'Device'],
    ['type', 'Alarm'],
    ['severity', 'Severity'],
    ['status', 'Status'],
  ] as const;
  const keys = columns.map(([key, label]) => ({
    name: key,
    type: 'alarm',
    label,
    color: '#0072b2',
    settings: {},
    _hash: key.length / 32,
  }));
  return widget(name, place, {
    type: 'alarm',
    fqn: 'alarm_widgets.alarms_table',
    title: 'Alarms',
    settings: {
      alarmsTitle: 'Alarms',
      enableSelection: true,
      enableSearch: true,
      enableFilter: true,
      enableSelectColumnDisplay: true,
      displayDetails: true,
      displayActivity: true,
      allowAcknowledgment: true,
      allowClear: true,
      allowAssign: true,
      displayPagination: true,
      defaultPageSize: 10,
      defaultSortOrder: '-createdTime',
      enableStickyAction: false,
    },
    more: {
      alarmSource: { type: 'entity', name: 'alarms', entityAliasId, filterId: null, dataKeys: keys },
      timewindow: MONTH,
      useDashboardTimewindow: false,
      displayTimewindow: true,
      alarmsPollingInterval: 5,
      alarmFilterConfig: { statusList: ['ACTIVE'], severityList: [], typeList: [], searchPropagatedAlarms: true },
    },
  });
}

/** One of each of the platform's six ways to command an output; where there are several outputs, each copy gets its own methods in its settings. */
function outputs(stateKey = 'value'): readonly Widget[] {
  const timeout = { requestTimeout: RPC_TIMEOUT_MS };
  const onOff = {
    ...timeout,
    initialValue: false,
    retrieveValueMethod: 'rpc',
    getValueMethod: 'getValue',
    setValueMethod: 'setValue',
  };
  const asItIs = { parseValueFunction: 'return data ? true : false;', convertValueFunction: 'return value;' };
  return [
    output('switch', 'control_widgets.switch_control', 0, {
      ...onOff,
      ...asItIs,
      showOnOffLabels: true,
      title: 'Output',
    }),
    output('number', 'control_widgets.knob_control', 4, {
      ...timeout,
      minValue: 0,
      maxValue: 100,
      initialValue: 0,
      title: 'Output, a number',
    }),
    output('single switch', 'single_switch', 8, { label: 'Output' }),
    output('lamp', 'control_widgets.led_indicator', 12, {
      ...timeout,
      initialValue: false,
      title: 'Output is on',
      ledColor: '#4caf50',
      performCheckStatus: true,
      checkStatusMethod: 'checkStatus',
      retrieveValueMethod: 'attribute',
      valueAttribute: stateKey,
      parseValueFunction: asItIs.parseValueFunction,
    }),
    output('pins', 'gpio_widgets.basic_gpio_control', 16, {
      ...timeout,
      switchPanelBackgroundColor: '#b71c1c',
      parseGpioStatusFunction: 'return body[pin] === true;',
      gpioStatusRequest: { method: 'getGpioStatus', paramsBody: '{}' },
      gpioStatusChangeRequest: {
        method: 'setGpioStatus',
        paramsBody: '{\n   "pin": "{$pin}",\n   "enabled": "{$enabled}"\n}',
      },
      gpioList: [{ pin: 7, label: 'Pin 7', row: 0, col: 0, _uniqueKey: 0 }],
    }),
    // Both ways, so that a refusal is seen.
    output('button', 'control_widgets.rpcbutton', 20, {
      ...timeout,
      oneWayElseTwoWay: false,
      buttonText: 'Off',
      methodName: 'setValue',
      methodParams: 'false',
      showError: true,
      title: 'Output off',
      styleButton: { isRaised: true, isPrimary: false },
    }),
  ];
}

function output(name: string, fqn: string, col: number, settings: JsonObject): Widget {
  return widget(
    `output ${name}`,
    { row: OUTPUTS_ROW, col, width: 4, height: 4 },
    {
      type: 'rpc',
      fqn,
      title: `Output: ${name}`,
      settings,
      more: { showTitle: fqn.startsWith('gpio'), targetDevice: { type: 'entity', entityAliasId: THIS_DEVICE } },
    },
  );
}
