/**
 * Some hundred configurations, made of one that is good by one change each: values that fit and values that do not, in every section, and
 * faults of structure. The same at every run.
 */
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { stringify } from 'yaml';
import { examples, exampleText } from '../../scripts/examples.ts';

export interface OneConfiguration {
  readonly name: string;
  readonly text: string | Buffer;
  readonly isGood: boolean;
  /** True when its folders are the test's own, so that an agent can be started with it. */
  readonly canStart?: boolean;
  /** Where a fault is expected, as path; of structure faults no more is known than that there is one. */
  readonly at?: string;
}

type Tree = Record<string, unknown>;

const CONFIG = resolve(import.meta.dirname, '../../config');

function base(folder: string): Tree {
  return {
    version: 1,
    platform: { url: 'http://127.0.0.1:9', accessToken: 'fixture-token', requestTimeout: '15s', connectTimeout: '10s' },
    provisioning: { deviceName: 'gateway-{serial|mac}', deviceKey: 'fixture-key', deviceSecret: 'fixture-secret' },
    stateFolder: `${folder}/state`,
    runFolder: `${folder}/run`,
    log: { level: 'error' },
    shutdown: { drain: '0s' },
    sensors: [
      {
        name: 'roof',
        kind: 'bme280',
        address: 0x76,
        period: '10s',
        keys: { temperature: { round: 1, minInterval: '1s', maxInterval: '1m' } },
      },
      { name: 'machine', kind: 'host', groups: ['load'], disks: ['/'] },
      { name: 'wind', kind: 'gpio-frequency', line: 'GPIO24', gate: '1s' },
      {
        name: 'meter',
        kind: 'modbus',
        connection: { transport: 'tcp', host: '127.0.0.1', port: 1502 },
        registers: { power: { address: 7 } },
      },
      { name: 'scale', kind: 'serial-line', port: '/dev/ttyUSB1', format: 'regex', pattern: '(?<weight>[0-9.]+)' },
      {
        name: 'files',
        kind: 'command',
        program: '/bin/cat',
        arguments: ['/proc/loadavg'],
        format: 'number',
        key: 'files',
      },
      { name: 'flow', kind: 'ds18b20', id: '28-0316a2794aff', keys: { temperature: { rename: 'flowTemperature' } } },
    ],
    actuators: [
      {
        name: 'pump',
        kind: 'gpio-output',
        line: 'GPIO5',
        safe: { start: 'off', stop: 'off' },
        limits: { minOn: '1s', maxOn: '1m' },
        interlocks: ['drain'],
      },
      { name: 'drain', kind: 'gpio-output', line: 'GPIO6' },
      { name: 'fan', kind: 'pwm', channel: 0, limits: { min: 10, max: 80, step: 10 }, safe: { stop: 20 } },
      {
        name: 'valve',
        kind: 'modbus-write',
        connection: { transport: 'tcp', host: '127.0.0.1', port: 1502 },
        address: 40,
      },
      { name: 'lamp', kind: 'command', program: '/bin/echo', arguments: ['{value}'] },
      { name: 'sign', kind: 'serial-write', port: '/dev/ttyS9', template: 'SHOW {value}', valueType: 'string' },
    ],
    rules: [
      {
        name: 'cool',
        when: { sensor: 'roof', key: 'temperature', above: 30 },
        set: { actuator: 'fan', value: 60 },
        otherwise: 20,
      },
    ],
    outbox: { maxBytes: '10MB', retain: { bytes: '1MB' } },
    attributes: { client: { place: 'roof' } },
    rpc: {
      methods: {
        tap: { actuator: 'drain', pulse: '2s' },
        ask: { sensor: 'roof' },
        wake: {
          command: { program: '/bin/echo', arguments: ['{mac}'] },
          params: { properties: { mac: { type: 'string' } } },
        },
      },
    },
    firmware: { handlers: [{ title: 'modem', program: '/bin/echo' }], confirm: { healthyFor: '5m', deadline: '60m' } },
    status: { page: 'off', port: 0 },
    analytics: { url: 'https://example.org', password: 'fixture password' },
  };
}

/** Methods of a person's own on each of them: read, set to what is asked for or to one value, and, where it switches, pulse. */
const METHODS_ON_ALL: Readonly<Record<string, object>> = {
  ...Object.fromEntries(
    ['roof', 'machine', 'wind', 'meter', 'scale', 'files', 'flow'].map((sensor) => [`read-${sensor}`, { sensor }]),
  ),
  ...Object.fromEntries(
    ['pump', 'drain', 'fan', 'valve', 'lamp', 'sign'].map((actuator) => [`set-${actuator}`, { actuator }]),
  ),
  'start-pump': { actuator: 'pump', value: true },
  'stop-fan': { actuator: 'fan', value: 20, params: {} },
  'flash-drain': { actuator: 'drain', pulse: '2s' },
};

/** Path in the base → values that fit, values that do not. */
const VALUES: Readonly<Record<string, readonly [good: readonly unknown[], bad: readonly unknown[]]>> = {
  version: [[1], [0, 2, '1', null]],
  'platform.url': [
    ['https://iot.example.org', 'http://[::1]:8080/prefix'],
    [
      'ftp://example.org',
      'example.org',
      '',
      'https://bob:word@example.org',
      'https://example.org/?a=b',
      'https:example.org',
      7,
      ['https://example.org'],
    ],
  ],
  'platform.accessToken': [['A1_-.~'], ['two words', 'line\n', ' x', '', '..', 'ü', 12345]],
  'platform.proxy': [
    ['http://user:pass@proxy:3128', 'https://proxy'],
    ['ftp://proxy', 'socks5://proxy:1080', 'proxy:3128', 'http://a:%zz@proxy', ''],
  ],
  'platform.requestTimeout': [
    ['100ms', '1m30s'],
    ['15', 15, '-1s', '99ms', '6m', '1e3s', 'soon'],
  ],
  'platform.codec': [['cbor'], ['xml', 1]],
  // One that is not there now is waited for.
  'platform.caFile': [[], ['ca.pem', '/etc', '']],
  'link.daily': [
    ['10kB', '1GiB'],
    ['9kB', 10_000, '10', '1TB'],
  ],
  // True needs `monthly` beside it.
  'link.metered': [[false], ['yes', 1]],
  'link.monthly': [
    ['5MB', '10GB'],
    ['4MB', 5_000_000, '5'],
  ],
  'link.resetDay': [
    [1, 28],
    [0, 29, 1.5, '1'],
  ],
  'link.wake': [
    ['1m', '1d'],
    ['59s', '2d', 15],
  ],
  'link.firmware': [['wait', 'now'], ['never']],
  'provisioning.deviceName': [
    ['one', '{hostname}', 'a {machineId|mac} b'],
    ['{imei}', '{serial', 'serial}', '{}', ' ', '', 'a<b', 'n\nm', 'x'.repeat(256)],
  ],
  'provisioning.deviceKey': [['key with blanks'], [' key', 'key\n', '', 7]],
  'provisioning.onUnauthorised': [['reprovision'], ['retry']],
  stateFolder: [
    [],
    [
      'state',
      '',
      '/proc/turnstone',
      '/sys/turnstone',
      '/etc/passwd',
      '/etc/passwd/state',
      `/var/${'n'.repeat(300)}`,
      `/v${'/n'.repeat(2_000)}`,
      7,
    ],
  ],
  runFolder: [
    [],
    ['run', '/dev/null', '/etc/hosts/run', '/proc/1/run', `/run/${'n'.repeat(120)}`, `/run/${'ä'.repeat(46)}`],
  ],
  'hardware.board': [['linux'], ['simulated', 'arduino']],
  'hardware.gpio': [['sysfs'], ['mmap']],
  'log.level': [['debug'], ['loud', true]],
  'shutdown.drain': [['5m'], ['6m', 0]],
  'sensors.2.name': [['a-1_b'], ['1a', 'a b', '', 'machine', 'x'.repeat(64)]],
  'sensors.0.kind': [['bmp280'], ['bme208', '', 5]],
  'sensors.0.address': [[0x77], [0x75, 0x78, '0x76', 118.5]],
  'sensors.0.period': [
    ['20ms', '1d'],
    ['9ms', '10ms', '2d', 10, '10 s'],
  ],
  'sensors.0.deadline': [['10s'], ['11s', '0ms']],
  'sensors.6.window': [
    [{ length: '10s' }],
    [{ length: '9s' }, { length: '1m', statistics: [] }, { length: '1m', statistics: ['mean', 'mean'] }, {}, '1m'],
  ],
  'sensors.0.keys.temperature.minInterval': [['1m'], ['61s']],
  'sensors.0.keys.pressure.rename': [['Wärme 1'], ['a<b', 'a,b', '{{a}}', '', ' ', 'fw_state', 'k'.repeat(256)]],
  'sensors.0.keys.temperature.alarms': [
    [[{ above: 5, name: 'a' }, { below: 4 }]],
    [[{}], [{ above: 1, below: 0 }], [{ above: 1 }, { below: 2 }], [{ above: 1, name: 'ok' }], 5],
  ],
  'sensors.0.keys.temprature': [[], [{}]],
  'sensors.0.oversampling': [[{ humidity: 16 }], [{ humidity: 3 }, { pressure: '1' }]],
  'sensors.1.groups': [[['cpu', 'uptime']], [[], ['cpu', 'cpu'], ['gpu']]],
  'sensors.1.disks': [[['/', '/tmp']], [['tmp'], ['/', '/']]],
  'sensors.2.line': [
    [17, { chip: 'gpiochip0', offset: 3 }],
    ['two words', -1, { chip: 'gpiochip0' }, ''],
  ],
  'sensors.2.gate': [['1500ms'], ['10s', '0s']],
  'sensors.3.registers': [
    [{ a: { address: 65_534, type: 'float32' } }, { a: { table: 'coil', address: 65_535, type: 'bool' } }],
    [
      {},
      { a: { address: 65_535, type: 'uint32' } },
      { a: { address: 65_536 } },
      { a: { address: 1, scale: 0 } },
      { a: { table: 'coil', address: 1 } },
      { a: { address: 1, bit: 3 } },
      { a: { address: 1, type: 'string' } },
      { a: { address: 1, type: 'bool', scale: 2 } },
      { 'a<b': { address: 1 } },
      { a: { adress: 1 } },
    ],
  ],
  'sensors.4.pattern': [['(?<a>x)(?<b>y)'], ['x', '(', '(?<a', '']],
  'sensors.4.baudRate': [[115_200], ['9600', 9600.5, 0]],
  'sensors.5.program': [['/bin/echo'], ['cat', '/bin', '/nonexistent', '/etc/passwd']],
  'sensors.5.arguments': [
    [[], ['{a}']],
    ['-n', [5], ['a\0b']],
  ],
  'sensors.5.environment': [[{ LANG: 'C' }], [{ 'A=B': 'c' }, { A: 'b\0' }, { A: 5 }]],
  'sensors.6.id': [['28-0316a2794a00'], ['28-0316A2794AFF', '10-000000000000', '']],
  'actuators.0.interlocks': [
    [[], ['fan']],
    [['pump'], ['pipe'], ['drain', 'drain'], 'drain'],
  ],
  'actuators.0.safe': [
    [{}, { start: true, noContact: { after: '1m', value: false } }],
    [{ start: 5 }, { start: 'open' }, { noContact: { after: '1s', value: 'off' } }, { begin: 'on' }],
  ],
  'actuators.0.limits': [[{ maxOn: '1h', minOff: '1s' }], [{ minOn: '2m', maxOn: '1m' }, { min: 0 }, { maxOn: '1ms' }]],
  'actuators.1.desiredKey': [['wish'], ['fw_title', 'log.level', 'pump', 'a&b', '']],
  'actuators.1.stateKey': [['is'], ['hostname', 'pumpState', 'roof_state', 'temperature']],
  'actuators.1.line': [['GPIO7'], ['GPIO5', 5, null]],
  'actuators.1.safe': [[{ start: false }], [{ stop: 'on ' }]],
  'actuators.2.limits': [
    [{ max: 100 }, {}],
    [{ min: -1 }, { max: 101 }, { min: 60, max: 50 }, { step: 200 }, { step: 0 }],
  ],
  'actuators.2.safe': [[{ stop: 30 }], [{ stop: 25 }, { stop: 5 }, { stop: 'on' }]],
  'actuators.2.channel': [[31], [32, -1]],
  'actuators.3.type': [
    ['int16', 'float64'],
    ['string', 'uint8'],
  ],
  'actuators.3.table': [[], ['input']],
  'actuators.3.scale': [[-0.1], [0, '1']],
  'actuators.3.limits': [[{ min: 0, max: 65_535 }], [{ max: 65_536 }, { min: -1 }]],
  'actuators.3.address': [[65_535], [65_536, -1]],
  'actuators.4.arguments': [[['a', '{value}b']], [['{valeu}'], ['{value}', '\0']]],
  'actuators.5.template': [['{value}{value}'], ['value', '']],
  'actuators.5.port': [['/dev/ttyS8'], ['/dev/ttyUSB1', 'COM1']],
  'rules.0.when': [
    [{ sensor: 'machine', key: 'load1', below: 1 }],
    [
      { sensor: 'machine', key: 'cpuPercent', above: 1 },
      { sensor: 'attic', key: 'a', above: 1 },
      { sensor: 'roof', key: 'temperature' },
      { sensor: 'roof', key: 'temperature', above: 1, below: 0 },
    ],
  ],
  'rules.0.set': [
    [{ actuator: 'fan', value: 10 }],
    [
      { actuator: 'fun', value: 1 },
      { actuator: 'fan', value: 65 },
      { actuator: 'fan', value: 'on' },
    ],
  ],
  'rules.0.otherwise': [[80], [90, 15]],
  'outbox.retain.bytes': [['10MB'], ['11MB']],
  'outbox.whenFull': [['drop-oldest'], ['drop']],
  'outbox.backlogRate': [['60/m'], ['0/s', '5', 5]],
  'attributes.client': [
    [{ a: { b: [1] } }],
    [{ version: 1 }, { pumpState: 1 }, { fw_title: 1 }, { 'a<b': 1 }, { 'sensors.x.period': 1 }, []],
  ],
  'rpc.methods.tap.pulse': [['1m'], ['2m', '0s']],
  'rpc.methods.ask': [
    [{ sensor: 'machine', deadline: '1s' }],
    [{}, { sensor: 'attic' }, { sensor: 'roof', actuator: 'pump' }, { sensor: 'roof', value: 1 }, { sensr: 'roof' }],
  ],
  'rpc.methods.wake.command.arguments': [[['-x', '{mac}']], [['{ip}'], ['{1}'], [null]]],
  'rpc.methods.wake.params': [
    [{ properties: { mac: { minLength: 1, maxLength: 1 } } }],
    [
      { properties: { mac: { minimum: 2, maximum: 1 } } },
      { required: ['a'], additionalProperties: false, properties: { mac: {} } },
      { type: 'text' },
    ],
  ],
  'rpc.methods.reboot': [[{ enabled: false }], [{ actuator: 'pump' }, { pulse: '1s' }]],
  'firmware.handlers': [
    [[], [{ title: 'turnstone', package: 'software', program: '/bin/echo' }]],
    [
      [{ title: 'turnstone', program: '/bin/echo' }],
      [
        { title: 'a', program: '/bin/echo' },
        { title: 'a', program: '/bin/cat' },
      ],
      [{ title: 'a', program: '/bin/echo', arguments: ['{fille}'] }],
      [{ title: 'a', program: '/nonexistent' }],
    ],
  ],
  'firmware.hours': [
    [{ from: '22:00', to: '04:00' }],
    [
      { from: '02:00', to: '02:00' },
      { from: '24:00', to: '01:00' },
      { from: '2:00', to: '03:00' },
    ],
  ],
  'firmware.confirm.healthyFor': [['60m'], ['61m']],
  'firmware.chunk': [['4kB'], ['1kB', '1GB']],
  'status.port': [[8_088], [65_536, '8088', -1]],
  'status.page': [['loopback'], ['lan', 'on']],
  'status.pin': [['4711'], ['471', 4711, ' 4711', '47\n11']],
  'analytics.url': [[], ['http://a:b@example.org', 'example.org']],
  'analytics.basePath': [['/apiTrendz'], ['apiTrendz']],
  sensorz: [[], [[]]],
};

/** Damages of a file in an editor, and on a card. */
const DAMAGES: Readonly<Record<string, (text: string) => string | Buffer>> = {
  'a tab before a key': (text) => text.replace('\nlog:', '\n\tlog:'),
  'a bracket without end': (text) => `${text}x: [1, 2\n`,
  'a key twice': (text) => `${text}version: 1\n`,
  'a second document': (text) => `${text}---\nversion: 1\n`,
  'an alias without anchor': (text) => text.replace('level: error', 'level: *error'),
  'a tag': (text) => text.replace('level: error', 'level: !error error'),
  'a null key': (text) => `${text}~: 1\n`,
  'a forbidden key': (text) => `${text}__proto__: { a: 1 }\n`,
  'a reference without end': (text) => text.replace('fixture-token', '${TOKEN'),
  'a reference to nothing': (text) => text.replace('fixture-token', `$${'{NOT_SET}'}`),
  'nothing at all': () => '',
  'only a comment': () => '# nothing\n',
  'a list': () => '- 1\n- 2\n',
  'a word': () => 'turnstone\n',
  'JSON cut off': () => '{ "version": 1, "platform": { ',
  'Latin-1': (text) => Buffer.from(text.replace('place: roof', 'place: süd'), 'latin1'),
  'UTF-16': (text) => Buffer.from(`\ufeff${text}`, 'utf16le'),
  'a NUL': (text) => text.replace('place: roof', 'place: ro\0of'),
  'text that turns round': (text) => text.replace('place: roof', 'place: ro\u202eof'),
  'brackets without end': () => '['.repeat(10_000),
  'more than a megabyte': (text) => `${text}# ${'x'.repeat(2 ** 20)}\n`,
  'no indentation': (text) => text.replaceAll('\n  ', '\n'),
};

export function manyConfigurations(folder: string): readonly OneConfiguration[] {
  const whole = stringify(base(folder));
  const changed = Object.entries(VALUES).flatMap(([path, [good, bad]]) => {
    const one = (value: unknown, isGood: boolean, index: number): OneConfiguration => ({
      name: `${path} ${isGood ? 'good' : 'bad'} ${index}`,
      text: stringify(withValue(base(folder), path.split('.'), value), { lineWidth: 0 }),
      isGood,
      canStart: isGood,
      at: path.replace(/\.(\d+)/g, '[$1]'),
    });
    return [
      ...good.map((value, index) => one(value, true, index)),
      ...bad.map((value, index) => one(value, false, index)),
    ];
  });
  const damaged = Object.entries(DAMAGES).map(([name, damage]) => ({ name, text: damage(whole), isGood: false }));
  return [
    { name: 'the base', text: whole, isGood: true, canStart: true },
    ...changed,
    ...damaged,
    ...switchedOff(folder).map((one) => ({ ...one, isGood: true, canStart: true })),
    ...delivered(),
  ];
}

/** Returns configurations that refer to a sensor, rule or actuator in every way, with that one switched off, and with all of them. */
function switchedOff(folder: string): readonly Pick<OneConfiguration, 'name' | 'text' | 'at'>[] {
  const tree: Tree = { ...base(folder), rpc: { methods: METHODS_ON_ALL } };
  const lists = (['sensors', 'actuators', 'rules'] as const).map((list) => ({
    list,
    items: tree[list] as readonly Tree[],
  }));
  const off = (item: Tree): Tree => ({ ...item, enabled: false });
  const everything = Object.fromEntries(lists.map(({ list, items }) => [list, items.map(off)]));
  return [
    { name: 'all switched off', text: stringify({ ...tree, ...everything }), at: 'enabled' },
    ...lists.flatMap(({ list, items }) =>
      items.map(({ name }) => ({
        name: `${list}: ${name} switched off`,
        text: stringify({ ...tree, [list]: items.map((item) => (item.name === name ? off(item) : item)) }),
        at: 'enabled',
      })),
    ),
  ];
}

/** As they are delivered; what they take from the environment is for the reader to give. */
function delivered(): readonly OneConfiguration[] {
  const files = ['turnstone.example.yaml', 'provisioning.example.yaml'];
  return [
    ...files.map((name) => ({ name, text: readFileSync(join(CONFIG, name), 'utf8'), isGood: true })),
    ...examples()
      .filter(({ name }) => name.endsWith('.yaml') && !name.includes('module'))
      .map((one) => ({ name: `examples/${one.name}`, text: exampleText(one), isGood: true })),
  ];
}

function withValue(tree: Tree, [key = '', ...rest]: readonly string[], value: unknown): Tree {
  const inner = tree[key];
  tree[key] = rest.length === 0 ? value : withValue((inner ?? {}) as Tree, rest, value);
  return tree;
}
