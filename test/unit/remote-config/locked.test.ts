import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseDuration } from '../../../src/config/fields/quantity.ts';
import { lockedChanges } from '../../../src/remote-config/locked.ts';
import { configurationTree, type Tree } from '../../../src/remote-config/tree-differences.ts';

const ALLOW = 'allow: []';
const BEFORE = `version: 1
label: Boiler house
platform: { url: "https://iot.example.org", accessToken: fixture-token, reconcilePeriod: 5m }
link: { metered: true, monthly: 50MB, daily: 5MB, wake: 15m }
provisioning: { deviceKey: the-key, deviceSecret: "\${PROVISION_SECRET}" }
stateFolder: /var/lib/site
log: { level: info }
hardware: { gpio: sysfs }
remoteConfiguration: { enabled: true, ${ALLOW} }
devices:
  - { name: meter, label: Meter, accessTokenFile: /etc/turnstone/meter }
sensors:
  - { name: roof, kind: bme280, period: 10s }
  - { name: tank, kind: ads1115, period: 10s, keys: { level: { scale: 2, rename: tankLevel, deadband: 1 } }, channels: { level: { input: A0, rangeVolts: 4.096 } } }
  - { name: load, kind: command, program: /usr/bin/load, arguments: [all], period: 1m, format: json }
  - { name: inverter, kind: http, url: "http://inverter.local/status", format: json }
actuators:
  - name: pump
    kind: gpio-output
    line: GPIO5
    maxPulse: 30s
    safe: { start: off, crash: off }
    limits: { maxOn: 10m, minOn: 30s, minOff: 1m, maxSwitchesPerHour: 6 }
    interlocks: [{ with: drain, gap: 2s }]
  - { name: drain, kind: gpio-output, line: GPIO6, limits: { maxOn: 20m, minOn: 3s, minOff: 7s, maxSwitchesPerHour: 9 } }
  - { name: fan, kind: pwm, channel: 0, limits: { min: 10, max: 80, step: 5 }, interlocks: [{ with: lamp, gap: 4s }] }
  - { name: lamp, kind: command, program: /usr/bin/lamp, valueType: boolean, telemetry: true }
rules:
  - { name: dry, when: { sensor: tank, key: tankLevel, below: 5 }, set: { actuator: pump, value: off }, protect: true, sensorLost: off }
  - { name: cool, when: { sensor: roof, key: temperature, above: 30 }, set: { actuator: fan, value: 60 } }
upload: { interval: 0s }
attributes: { liveSettings: false, client: { place: roof } }
rpc: { lockout: { file: /var/lib/turnstone/lockout }, methods: { stop: { actuator: pump, value: off } } }
firmware: { requireSignature: true, chunk: 1MB, handlers: [{ title: modem, program: /usr/bin/modem }] }
status: { page: loopback, pin: "471199" }
`;

/** `${NAME}` as it stands in a file. */
const reference = (name: string): string => `\${${name}}`;

type Change = readonly [from: string, to: string];

/** The change, and the paths at which it is refused with these allowances. */
type Case = readonly [what: string, change: Change, refused: readonly string[], allow?: string];

const OUTPUTS = 'allow: [outputs]';
const PROGRAMS = 'allow: [programs]';
const PLATFORM = 'allow: [platform]';
const NEW_OUTPUT = '  - { name: valve, kind: gpio-output, line: GPIO7 }\nrules:';
const NEW_PROGRAM = '  - { name: other, kind: command, program: /bin/sh }\nactuators:';
const PROTECT = 'set: { actuator: pump, value: on }, protect: true, sensorLost: on }';

const CASES: readonly Case[] = [
  // What says who may change what.
  ['remote configuration', ['enabled: true, ', 'enabled: true, trial: 10m, '], ['remoteConfiguration.trial']],
  ['its allowances', ['allow: []', 'allow: [programs]'], ['remoteConfiguration.allow']],
  ['the PIN', ['"471199"', '"471100"'], ['status.pin']],
  ['the page', ['page: loopback', 'page: lan'], ['status.page']],
  ['control on the page', ['page: loopback', 'page: loopback, control: true'], ['status.control']],
  ['its telemetry', ['page: loopback', 'page: loopback, telemetryPeriod: 5m'], []],
  ['the state folder', ['/var/lib/site\nlog', '/var/lib/other\nlog'], ['stateFolder']],
  ['the run folder', ['log:', 'runFolder: /run/other\nlog:'], ['runFolder']],
  ['the hardware', ['gpio: sysfs', 'gpio: auto'], ['hardware.gpio']],
  ['a command', ['value: off } } }', 'value: on } } }'], ['rpc.methods.stop.value']],
  ['a new command', ['methods: {', 'methods: { go: { actuator: pump },'], ['rpc.methods.go.actuator']],
  ['the lockout', ['file: /var/lib/turnstone/lockout', 'file: /tmp/no'], ['rpc.lockout.file']],
  ['the lockout away', ['lockout: { file: /var/lib/turnstone/lockout }, ', ''], ['rpc.lockout.file']],
  ['analytics', ['status:', 'analytics: { url: "https://x.org" }\nstatus:'], ['analytics.url']],
  ['the version', ['version: 1', 'version: 2'], ['version']],
  ['a section that nobody knows', ['status:', 'other: 1\nstatus:'], ['other']],
  ['live settings on', ['liveSettings: false', 'liveSettings: true'], ['attributes.liveSettings']],
  ['fixed attributes', ['place: roof', 'place: cellar'], []],
  ...['units', 'configurationState', 'configHash', 'configFileHash', 'effectiveSettings'].map(
    (key): Case => [
      `what the agent tells of itself, ${key}`,
      ['place: roof', `place: roof, ${key}: { state: kept }`],
      [`attributes.client.${key}.state`],
    ],
  ),
  // Updates.
  [
    'signatures',
    ['requireSignature: true', 'requireSignature: false'],
    ['firmware.handlers.modem.requireSignature', 'firmware.requireSignature'],
  ],
  ['trusted keys', ['chunk: 1MB', 'chunk: 1MB, trustedKeys: /tmp/keys'], ['firmware.trustedKeys']],
  ['downgrades', ['chunk: 1MB', 'chunk: 1MB, allowDowngrade: true'], ['firmware.allowDowngrade']],
  ['the size of chunks', ['chunk: 1MB', 'chunk: 2MB'], []],
  ['a handler', ['/usr/bin/modem', '/bin/sh'], ['firmware.handlers.modem.program']],
  ['a handler, allowed', ['/usr/bin/modem', '/bin/sh'], [], PROGRAMS],
  [
    'a handler without signature, allowed',
    ['/usr/bin/modem }', '/usr/bin/modem, requireSignature: false }'],
    ['firmware.handlers.modem.requireSignature'],
    PROGRAMS,
  ],
  [
    'a handler without checksum, allowed',
    ['/usr/bin/modem }', '/usr/bin/modem, allowWithoutChecksum: true }'],
    ['firmware.handlers.modem.allowWithoutChecksum'],
    PROGRAMS,
  ],
  // The platform.
  ['another platform', ['iot.example.org', 'evil.example.org'], ['platform.url']],
  ['another platform, allowed', ['iot.example.org', 'new.example.org'], [], PLATFORM],
  ['a new token in the file', ['fixture-token', 'other-token'], ['platform.accessToken']],
  ['a new token in the file, allowed', ['fixture-token', 'other-token'], ['platform.accessToken'], PLATFORM],
  ['a token by variable, allowed', ['fixture-token', `"${reference('TOKEN')}"`], [], PLATFORM],
  ['a token by credential, allowed', ['accessToken: fixture-token', 'accessTokenCredential: token'], [], PLATFORM],
  ['provisioning', ['PROVISION_SECRET', 'OTHER'], ['provisioning.deviceSecret']],
  [
    'provisioning away',
    ['provisioning: {', 'x-provisioning: {'],
    ['provisioning.deviceKey', 'provisioning.deviceSecret', 'x-provisioning.deviceKey', 'x-provisioning.deviceSecret'],
  ],
  ['a greater month', ['monthly: 50MB', 'monthly: 60MB'], ['link.monthly']],
  ['no month', ['monthly: 50MB, ', ''], ['link.monthly']],
  ['a smaller month', ['monthly: 50MB', 'monthly: 40MB'], ['link.monthly']],
  ['a greater day', ['daily: 5MB', 'daily: 6MB'], ['link.daily']],
  ['a smaller day', ['daily: 5MB', 'daily: 4000kB'], ['link.daily']],
  ['a smaller day, allowed', ['daily: 5MB', 'daily: 4000kB'], [], PLATFORM],
  ['no meter', ['metered: true', 'metered: false'], ['link.metered']],
  ['downloads past the month', ['metered: true', 'metered: true, firmware: now'], ['link.firmware']],
  ['the wake', ['wake: 15m', 'wake: 1d'], ['link.wake']],
  [
    'the token of an attached device',
    ['/etc/turnstone/meter', '/etc/turnstone/other'],
    ['devices.meter.accessTokenFile'],
  ],
  ['its label', ['label: Meter', 'label: Heat meter'], []],
  // Programs.
  ['another program', ['/usr/bin/load', '/bin/sh'], ['sensors.load.program']],
  ['other arguments', ['[all]', '[some]'], ['sensors.load.arguments']],
  ['an environment', ['[all]', '[all], environment: { LD_PRELOAD: /tmp/x }'], ['sensors.load.environment.LD_PRELOAD']],
  ['its period', ['period: 1m', 'period: 2m'], []],
  ['a new program', ['actuators:', NEW_PROGRAM], ['sensors.other']],
  ['a new program, allowed', ['actuators:', NEW_PROGRAM], [], PROGRAMS],
  [
    'a driver of a user',
    ['kind: bme280', 'kind: module, file: /tmp/x.mjs'],
    ['sensors.roof.file', 'sensors.roof.kind'],
  ],
  ['a kind of the environment', ['kind: bme280', `kind: "${reference('KIND')}"`], ['sensors.roof.kind']],
  ['a new host', ['http://inverter.local/', 'http://other.local/'], ['sensors.inverter.url']],
  ['another port', ['http://inverter.local/', 'http://inverter.local:81/'], ['sensors.inverter.url']],
  ['a host of the environment', ['inverter.local', `${reference('HOST')}`], ['sensors.inverter.url']],
  ['another path of a host', ['/status', '/other'], ['sensors.inverter.url']],
  ['any certificate', ['/status"', '/status", insecure: true'], ['sensors.inverter.insecure']],
  ['a new host, allowed', ['http://inverter.local/', 'http://other.local/'], [], PROGRAMS],
  ['an output by another program', ['/usr/bin/lamp', '/bin/sh'], ['actuators.lamp.program']],
  ['an output by another program, allowed', ['/usr/bin/lamp', '/bin/sh'], [], PROGRAMS],
  [
    'a secret of the environment in sight',
    ['place: roof', `place: "${reference('TOKEN')}"`],
    ['attributes.client.place'],
  ],
  // Outputs.
  ['a new output', ['rules:', NEW_OUTPUT], ['actuators.valve']],
  ['a new output, allowed', ['rules:', NEW_OUTPUT], [], OUTPUTS],
  [
    'an output away',
    [/ {2}- \{ name: fan.*\n/.exec(BEFORE)?.[0] ?? '', ''],
    ['actuators.fan', 'actuators.fan.interlocks'],
  ],
  ['another line', ['GPIO6', 'GPIO9'], ['actuators.drain.line']],
  ['another line, allowed', ['GPIO6', 'GPIO9'], [], OUTPUTS],
  ['the other way round', ['line: GPIO6', 'line: GPIO6, activeLow: true'], ['actuators.drain.activeLow']],
  ['its label and class', ['line: GPIO6', 'line: GPIO6, label: Drain, class: valve'], []],
  ['a longer time on', ['maxOn: 10m', 'maxOn: 11m'], ['actuators.pump.limits.maxOn']],
  [
    'a longer time on, allowed all',
    ['maxOn: 10m', 'maxOn: 11m'],
    ['actuators.pump.limits.maxOn'],
    'allow: [platform, programs, outputs]',
  ],
  ['no time on', ['maxOn: 10m, ', ''], ['actuators.pump.limits.maxOn']],
  ['a time on of the environment', ['maxOn: 10m', `maxOn: "${reference('X')}"`], ['actuators.pump.limits.maxOn']],
  ['a time on in another tag', ['maxOn: 10m', 'maxOn: 600000'], ['actuators.pump.limits.maxOn']],
  ['a shorter time on', ['maxOn: 20m', 'maxOn: 9m'], []],
  ['a time on of a second', ['maxOn: 20m', 'maxOn: 1s'], []],
  ['a time on of nothing', ['maxOn: 20m', 'maxOn: 999ms'], ['actuators.drain.limits.maxOn']],
  [
    'a time on of nothing that was not there',
    ['telemetry: true', 'telemetry: true, limits: { maxOn: 10ms }'],
    ['actuators.lamp.limits.maxOn'],
  ],
  ['a shorter least time on', ['minOn: 30s', 'minOn: 20s'], ['actuators.pump.limits.minOn']],
  ['a longer least time on', ['minOn: 3s,', 'minOn: 4s,'], []],
  ['a shorter least time off', ['minOff: 1m', 'minOff: 59s'], ['actuators.pump.limits.minOff']],
  ['a longer least time off', ['minOff: 7s', 'minOff: 8s'], []],
  ['more switches', ['Hour: 6', 'Hour: 7'], ['actuators.pump.limits.maxSwitchesPerHour']],
  ['fewer switches', ['Hour: 9', 'Hour: 5'], []],
  ['a greater value', ['max: 80', 'max: 81'], ['actuators.fan.limits.max']],
  ['a greatest value that is none', ['max: 80', 'max: .nan'], ['actuators.fan.limits.max']],
  ['a smaller greatest value', ['max: 80', 'max: 79'], []],
  ['a smaller value', ['min: 10', 'min: 0'], ['actuators.fan.limits.min']],
  ['a greater least value', ['min: 10', 'min: 20'], []],
  ['a least value that is the greatest', ['min: 10', 'min: 80'], ['actuators.fan.limits.min']],
  ['a greatest value that is the least', ['max: 80', 'max: 10'], ['actuators.fan.limits.max']],
  ['a least value alone', ['telemetry: true', 'telemetry: true, limits: { min: 5 }'], ['actuators.lamp.limits.min']],
  ['a greatest value of 0', ['telemetry: true', 'telemetry: true, limits: { max: 0 }'], ['actuators.lamp.limits.max']],
  ['a tighter time on where a rule protects', ['maxOn: 10m', 'maxOn: 9m'], ['actuators.pump.limits.maxOn']],
  ['a longer rest where a rule protects', ['minOff: 1m', 'minOff: 61s'], ['actuators.pump.limits.minOff'], OUTPUTS],
  ['fewer switches where a rule protects', ['Hour: 6', 'Hour: 5'], ['actuators.pump.limits.maxSwitchesPerHour']],
  ['finer steps', ['step: 5', 'step: 1'], ['actuators.fan.limits.step']],
  ['coarser steps', ['step: 5', 'step: 10'], ['actuators.fan.limits.step']],
  ['a limit that was not there', ['telemetry: true', 'telemetry: true, limits: { maxOn: 1m }'], []],
  ['a limit that nobody knows', ['max: 80', 'max: 80, most: 3'], ['actuators.fan.limits.most']],
  ['longer pulses', ['maxPulse: 30s', 'maxPulse: 31s'], ['actuators.pump.maxPulse']],
  ['pulses of the default', ['    maxPulse: 30s\n', ''], ['actuators.pump.maxPulse']],
  ['shorter pulses', ['maxPulse: 30s', 'maxPulse: 29s'], []],
  ['no interlock', ['interlocks: [{ with: drain, gap: 2s }]', 'interlocks: []'], ['actuators.drain.interlocks']],
  ['a shorter gap', ['gap: 2s', 'gap: 1s'], ['actuators.drain.interlocks']],
  ['a longer gap', ['gap: 4s', 'gap: 5s'], []],
  ['one more interlock', ['gap: 4s }', 'gap: 4s }, drain'], []],
  ['a longer gap where a rule protects', ['gap: 2s', 'gap: 3s'], ['actuators.pump.interlocks']],
  ['one more interlock where a rule protects', ['gap: 4s }', 'gap: 4s }, pump'], ['actuators.pump.interlocks']],
  [
    'an interlock of the environment',
    ['gap: 2s }', `gap: 2s }, { with: fan, gap: "${reference('X')}" }`],
    ['actuators.pump.interlocks[1].gap', 'actuators.pump.interlocks'],
  ],
  [
    'an interlock that the other says',
    [
      '    interlocks: [{ with: drain, gap: 2s }]\n  - { name: drain, kind: gpio-output,',
      '  - { name: drain, kind: gpio-output, interlocks: [{ with: pump, gap: 2s }],',
    ],
    [],
  ],
  ['a safe state', ['crash: off', 'crash: on'], ['actuators.pump.safe.crash']],
  ['a safe state away', ['start: off, ', ''], ['actuators.pump.safe.start']],
  [
    'a safe state that was not there',
    ['line: GPIO6', 'line: GPIO6, safe: { stop: on }'],
    ['actuators.drain.safe.stop'],
  ],
  ['a state restored', ['line: GPIO6', 'line: GPIO6, restore: true'], ['actuators.drain.restore']],
  ['an operator who stays', ['line: GPIO6', 'line: GPIO6, operatorUntil: release'], ['actuators.drain.operatorUntil']],
  // Rules.
  ['a protecting limit', ['below: 5', 'below: 4'], ['rules.dry.when.below']],
  ['a protecting rule off', ['name: dry,', 'name: dry, enabled: false,'], ['rules.dry.enabled']],
  ['protection away', ['protect: true', 'protect: false'], ['rules.dry.protect']],
  ['its label', ['name: dry,', 'name: dry, label: Runs dry,'], []],
  ['another name', ['name: dry,', 'name: wet,'], ['rules.dry', 'rules.wet']],
  ['an ordinary rule', ['above: 30', 'above: 20'], []],
  ['an ordinary rule away', ['  - { name: cool,', '  - { name: chill,'], []],
  [
    'one more that protects',
    ['upload:', `  - { name: wet, when: { sensor: roof, key: humidity, above: 5 }, ${PROTECT}\nupload:`],
    ['rules.wet'],
  ],
  [
    'one more that protects, allowed',
    ['upload:', `  - { name: wet, when: { sensor: roof, key: humidity, above: 5 }, ${PROTECT}\nupload:`],
    [],
    OUTPUTS,
  ],
  ['protection of an ordinary rule', ['value: 60 }', 'value: 60 }, protect: true'], ['rules.cool']],
  [
    'one before that protects',
    ['rules:', `rules:\n  - { name: wet, when: { sensor: roof, key: humidity, above: 5 }, ${PROTECT}`],
    ['rules.wet'],
  ],
  ['what a protecting rule reads', ['scale: 2', 'scale: 0'], ['sensors.tank.keys.level.scale']],
  ['what a protecting rule is read by', ['kind: ads1115', 'kind: ads1115, address: 0x49'], ['sensors.tank.address']],
  ['its deadband', ['deadband: 1 }', 'deadband: 2 }'], ['sensors.tank.keys.level.deadband']],
  ['its period', ['ads1115, period: 10s', 'ads1115, period: 1h'], ['sensors.tank.period']],
  ['its deadline', ['ads1115,', 'ads1115, deadline: 1ms,'], ['sensors.tank.deadline']],
  ['whether it is read', ['ads1115,', 'ads1115, enabled: false,'], ['sensors.tank.enabled']],
  ['its class', ['ads1115,', 'ads1115, class: level,'], ['sensors.tank.class']],
  ['its label alone', ['ads1115,', 'ads1115, label: Tank,'], []],
  ['an entry in place of *', ['keys: { level:', 'keys: { other: {}, level:'], ['sensors.tank.keys.other']],
  // Free.
  ['a period', ['period: 10s }', 'period: 20s }'], []],
  ['a new sensor', ['actuators:', '  - { name: hall, kind: sht3x }\nactuators:'], []],
  [
    'a sensor away',
    ['  - { name: load, kind: command, program: /usr/bin/load, arguments: [all], period: 1m, format: json }\n', ''],
    [],
  ],
  ['alarms', ['period: 10s }', 'period: 10s, keys: { temperature: { alarms: [{ above: 40 }] } } }'], []],
  ['the log', ['level: info', 'level: debug'], []],
  ['uploads', ['interval: 0s', 'interval: 10s'], []],
  ['the clock of a rule that protects', ['log:', 'time: { trust: always }\nlog:'], ['time.trust']],
  ['the label', ['Boiler house', 'Cellar'], []],
  // Other spellings of the same.
  ['10m in ms', ['maxOn: 10m', 'maxOn: 600000ms'], []],
  ['off as false', ['crash: off', 'crash: false'], []],
  ['off in quotes', ['crash: off', 'crash: "off"'], []],
  ['a default that is written', ['page: loopback', 'page: loopback, port: 8088'], []],
  ['keys in quotes', ['{ maxOn: 10m,', '{ "maxOn": "10m",'], []],
  ['a line by its number', ['line: GPIO5', 'line: 5'], []],
  ['11m in ms', ['maxOn: 10m', 'maxOn: 660000ms'], ['actuators.pump.limits.maxOn']],
];

function treeOf(text: string): Tree {
  const { tree, faults } = configurationTree(text);
  if (tree === undefined) throw new Error(JSON.stringify(faults));
  return tree;
}

function pathsOf(before: string, after: string): readonly string[] {
  return lockedChanges(treeOf(before), treeOf(after)).map(({ path }) => path);
}

describe('a change from afar', () => {
  it.each(CASES)('of %s', (...one) => {
    const [, [from, to], refused, allow = ALLOW] = one as unknown as Case;
    const before = BEFORE.replace(ALLOW, allow);
    expect(before).toContain(from);
    expect(
      pathsOf(
        before,
        before.replace(from, () => to),
      ).toSorted(),
    ).toEqual([...refused].sort());
  });

  it('leaves the clock of a protecting rule alone, and no other', () => {
    const after = `${BEFORE}time: { trust: always }\n`;
    expect(pathsOf(BEFORE, after)).toEqual(['time.trust']);
    const free = (text: string): string => text.replace('protect: true, sensorLost: off', 'sensorLost: off');
    expect(pathsOf(free(BEFORE), free(after))).toEqual([]);
  });

  it('has none that is locked when nothing differs', () => {
    expect(pathsOf(BEFORE, `# a comment\n${BEFORE}`)).toEqual([]);
  });

  it('is told in words, without a value of the file', () => {
    const [change] = lockedChanges(treeOf(BEFORE), treeOf(BEFORE.replace('maxOn: 10m', 'maxOn: 11m')));
    expect(change).toEqual({ path: 'actuators.pump.limits.maxOn', words: 'only becomes tighter from afar' });
    expect(JSON.stringify(lockedChanges(treeOf(BEFORE), treeOf(BEFORE.replace('471199', '999999'))))).not.toMatch(
      /\d{6}/,
    );
  });

  it('is judged by the allowances of the file in place', () => {
    const after = BEFORE.replace(ALLOW, 'allow: [platform, programs, outputs]').replace('/usr/bin/load', '/bin/sh');
    expect(pathsOf(BEFORE, after)).toEqual(['remoteConfiguration.allow', 'sensors.load.program']);
  });
});

const PLANT = `version: 1
remoteConfiguration: { enabled: true, ${ALLOW} }
sensors:
  - { name: tank, kind: ads1115, channels: { level: { input: A0 } } }
  - { name: meter, kind: modbus, connection: { transport: tcp, host: meter.local }, registers: { power: { address: 1 } } }
  - { name: sum, kind: derived, values: { both: "power + power" } }
  - { name: line, kind: serial-line, port: /dev/ttyS1, format: json }
  - { name: asked, kind: serial-line, port: /dev/ttyS2, request: "?", period: 1m, format: json }
  - { name: heat, kind: mbus, port: "tcp://[FE80::1]:4001", address: 1 }
  - { name: charger, kind: http, url: "https://charger.local/", headers: { Authorization: "Bearer ${reference('API_KEY')}" } }
  - { name: job, kind: command, enabled: false, program: /usr/bin/job, arguments: ["${reference('ONE')}", plain] }
actuators:
  - { name: pump, kind: gpio-output, line: GPIO5, limits: { maxOn: 10m } }
  - { name: fan, kind: gpio-output, line: GPIO6 }
attributes: { client: { place: "$${reference('KEPT')}", site: "${reference('SITE')}" } }
rules:
  - { name: dry, when: { all: [{ sensor: tank, key: level, below: 5 }] }, set: { actuator: pump, value: off }, protect: true }
`;

/** Paths at which this change of the plant is refused. */
function refusedOf([from, to]: Change, plant = PLANT): readonly string[] {
  expect(plant).toContain(from);
  return pathsOf(
    plant,
    plant.replace(from, () => to),
  ).toSorted();
}

describe('a variable of the environment', () => {
  const [KEY, SITE] = [reference('API_KEY'), reference('SITE')];

  it.each<readonly [string, Change, readonly string[]]>([
    ['a label', ['sensors:', `label: "${KEY}"\nsensors:`], ['label']],
    ['an attribute', ['client: {', `client: { key: "${KEY}",`], ['attributes.client.key']],
    ['another attribute of the same variable', [`site: "${SITE}"`, `place2: "${SITE}"`], ['attributes.client.place2']],
    ['a text around it', [`"${SITE}"`, `"at ${SITE}"`], ['attributes.client.site']],
    ['a place of which another variable was', [SITE, KEY], ['attributes.client.site']],
    ['a place where it was none', [`$${reference('KEPT')}`, reference('KEPT')], ['attributes.client.place']],
  ])('is not named from afar in %s', (_what, change, refused) => {
    expect(refusedOf(change)).toEqual(refused);
  });

  it('stays where it stands, and goes', () => {
    expect(refusedOf(['sensors:', 'label: Plant\nsensors:'])).toEqual([]);
    expect(refusedOf([`, site: "${SITE}"`, ''])).toEqual([]);
  });

  it('does not move within a list, with programs allowed too', () => {
    const plant = PLANT.replace(ALLOW, PROGRAMS);
    const change: Change = [`["${reference('ONE')}", plain]`, `[plain, "${reference('ONE')}"]`];
    expect(refusedOf(change, plant)).toEqual(['sensors.job.arguments[1]']);
  });
});

describe('a sensor from afar', () => {
  const added = (sensor: string): Change => ['actuators:', `  - { name: new, ${sensor} }\nactuators:`];
  const REGISTERS = 'registers: { a: { address: 1 } }';

  it.each(['encryptionKey', 'authenticationKey'])('has its %s by a file or a credential alone', (option) => {
    const meter = 'kind: serial-line, port: /dev/ttyS0, format: json, frame: { start: "2F", end: "21" }';
    const other = option === 'encryptionKey' ? '' : ', encryptionKeyFile: /etc/turnstone/key';
    const refused = refusedOf(added(`${meter}${other}, ${option}: ${'AB'.repeat(16)}`), PLANT);
    expect(refused).toEqual([`sensors.new.${option}`]);
    expect(refusedOf(added(`${meter}${other}, ${option}File: /etc/turnstone/meter-key`))).toEqual([]);
  });

  it.each([
    'kind: gpio-input, line: GPIO9',
    'kind: ds18b20',
    'kind: derived, values: { a: "power" }',
    'kind: host',
    'kind: nmea, port: /dev/ttyS0',
    'kind: serial-line, port: /dev/serial/by-id/x, format: json',
    'kind: mbus, port: /dev/ttyS0, address: 2',
    'kind: mbus, port: "tcp://[fe80::1]:4001", address: 2',
    `kind: modbus, connection: { transport: rtu, port: /dev/ttyS0 }, ${REGISTERS}`,
    `kind: modbus, connection: { transport: tcp, host: Meter.local, port: 502 }, ${REGISTERS}`,
    'kind: sunspec, connection: { transport: rtu-over-tcp, host: "fe80::1", port: 4001 }',
  ])('is put in where it only reads: %s', (sensor) => {
    expect(refusedOf(added(sensor))).toEqual([]);
  });

  it.each([
    'kind: http, url: "https://charger.local/"',
    'kind: i2c-register, address: 0x20, registers: { a: { register: 1 } }',
    'kind: i2c-register, address: 0x20, setup: [{ register: 1, bytes: [255] }], registers: { a: { register: 1 } }',
    'kind: serial-line, port: /dev/ttyS0, request: "X", format: json',
    'kind: serial-line, port: /dev/ttyS0, requestHex: "00", format: json',
    'kind: serial-line, port: /dev/ttyS0, preset: scale',
    'kind: serial-line, port: "tcp://meter.local:502", format: json',
    'kind: serial-line, port: /dev/../etc/x, format: json',
    'kind: sml, port: "tcp://other.local:4001"',
    'kind: sml, port: /etc/turnstone/turnstone.yaml',
    'kind: dlms, port: "tcp://other.local:4001"',
    'kind: iec62056, port: "rfc2217://other.local:4001"',
    'kind: mbus, port: "tcp://other.local:4001", address: 2',
    `kind: modbus, connection: { transport: tcp, host: other.local }, ${REGISTERS}`,
    `kind: modbus, connection: { transport: tcp, host: meter.local, port: 80 }, ${REGISTERS}`,
    `kind: modbus, connection: x, ${REGISTERS}`,
    'kind: command, program: /bin/sh',
    'kind: unheard',
  ])('needs programs where it writes or reaches out: %s', (sensor) => {
    expect(refusedOf(added(sensor))).toEqual(['sensors.new']);
    expect(refusedOf(added(sensor), PLANT.replace(ALLOW, PROGRAMS))).toEqual([]);
  });

  it.each<readonly [string, Change, readonly string[]]>([
    ['a request', ['/dev/ttyS1,', '/dev/ttyS1, request: "X",'], ['sensors.line.request']],
    ['another request', ['request: "?"', 'request: "X"'], ['sensors.asked.request']],
    ['another port of one that is asked', ['/dev/ttyS2', '/dev/ttyS3'], ['sensors.asked.port']],
    ['a method', ['url: "https', 'method: POST, url: "https'], ['sensors.charger.method']],
    ['another name of the server', ['url: "https', 'serverName: x.org, url: "https'], ['sensors.charger.serverName']],
    ['another host', ['host: meter.local', 'host: other.local'], ['sensors.meter.connection.host']],
    ['a kind that writes', ['kind: mbus', 'kind: serial-line'], ['sensors.heat.kind']],
    ['a program switched on', ['enabled: false', 'enabled: true'], ['sensors.job.enabled']],
    ['another port of one that listens', ['/dev/ttyS1', '/dev/ttyS3'], []],
    ['other registers', ['address: 1 } }', 'address: 2 } }'], []],
    ['the period of one that is asked', ['period: 1m', 'period: 2m'], []],
    ['one that is asked switched off', ['request: "?"', 'request: "?", enabled: false'], []],
    ['its keys', ['request: "?"', 'request: "?", keys: { "*": { deadband: 1 } }'], []],
    ['its prefix', ['request: "?"', 'request: "?", prefix: a'], ['sensors.asked.prefix']],
  ])('is changed by %s as far as it still only reads', (_what, change, refused) => {
    expect(refusedOf(change)).toEqual(refused);
  });
});

describe('a rule that protects', () => {
  const HALL = '  - { name: hall, kind: sht3x }\nactuators:';
  const LINE: Change = ['GPIO6 }', 'GPIO6, class: fan }'];
  const by = (from: string, to: string): string => {
    expect(PLANT).toContain(from);
    return PLANT.replace(from, () => to);
  };
  const all = 'all: [{ sensor: tank, key: level, below: 5 }]';

  it.each([
    ['a derived value', by('sensor: tank, key: level', 'sensor: sum, key: both')],
    ['a sensor whose kind is a variable', by('kind: ads1115', `kind: "${reference('KIND')}"`)],
    ['a sensor of a variable', by('sensor: tank', `sensor: "${reference('TANK')}"`)],
    ['a sensor that is not there', by('sensor: tank', 'sensor: other')],
    ['a condition that is a variable', by(`when: { ${all} }`, `when: "${reference('WHEN')}"`)],
    ['conditions of which one is a variable', by(all, `any: ["${reference('WHEN')}"]`)],
    ['an output of a variable', by('actuator: pump', `actuator: "${reference('PUMP')}"`)],
    ['two names that are one', by('rules:', 'rules:\n  - { name: dry }')],
  ])('goes by %s, and then no sensor changes but in its label', (_what, plant) => {
    for (const allow of [ALLOW, PROGRAMS, OUTPUTS]) {
      const allowed = plant.replace(ALLOW, allow);
      expect(refusedOf(['actuators:', HALL], allowed)).toEqual(['sensors.hall']);
      expect(refusedOf(['period: 1m', 'period: 2m'], allowed)).toEqual(['sensors.asked.period']);
      expect(refusedOf(['address: 1 } }', 'address: 2 } }'], allowed)).toEqual([
        'sensors.meter.registers.power.address',
      ]);
      expect(refusedOf(['name: asked,', 'name: asked, label: Scale,'], allowed)).toEqual([]);
    }
  });

  it('by a known sensor leaves the others free', () => {
    expect(refusedOf(['actuators:', HALL])).toEqual([]);
    expect(refusedOf(LINE)).toEqual([]);
  });

  it.each([
    ['sets an output of a variable', by('actuator: pump', `actuator: "${reference('PUMP')}"`), ['actuators.fan.class']],
    ['sets an output that is not there', by('actuator: pump', 'actuator: other'), ['actuators.fan.class']],
    ['has the name of another', by('rules:', 'rules:\n  - { name: dry }'), ['actuators.fan.class']],
    ['goes by a sensor of a variable', by('sensor: tank', `sensor: "${reference('TANK')}"`), []],
  ])('and %s: of the outputs that may be its own nothing changes', (_what, plant, fan) => {
    expect(refusedOf(LINE, plant)).toEqual(fan);
    expect(refusedOf(['line: GPIO5', 'line: GPIO5, class: pump'], plant)).toEqual(['actuators.pump.class']);
    expect(refusedOf(['line: GPIO5', 'line: GPIO5, label: Pump'], plant)).toEqual([]);
  });

  it('and sets an output of a variable does not go with outputs allowed', () => {
    const plant = by('actuator: pump', `actuator: "${reference('PUMP')}"`).replace(ALLOW, OUTPUTS);
    expect(refusedOf(['name: dry', 'name: wet'], plant)).toContain('rules.dry');
  });
});

describe('a change behind a template, an anchor or a merge key', () => {
  const MERGED = 'actuators:\n  - &one { name: a, kind: gpio-output, line: GPIO5, limits: { maxOn: 1m } }\n';

  it('is what is made of it', () => {
    const plain = `version: 1\n${MERGED}  - { name: b, kind: gpio-output, line: GPIO6, limits: { maxOn: 1m } }\n`;
    const merged = `version: 1\n${MERGED}  - { <<: *one, name: b, line: GPIO6 }\n`;
    const made =
      'version: 1\ntemplates: { out: { kind: gpio-output, limits: { maxOn: 1m } } }\nactuators: [{ template: out, name: "{w}", line: "{l}", each: [{ w: a, l: GPIO5 }, { w: b, l: GPIO6 }] }]\n';
    for (const one of [plain, merged, made]) {
      for (const other of [plain, merged, made]) expect(pathsOf(one, other)).toEqual([]);
      const looser = one.replace('maxOn: 1m', 'maxOn: 2m');
      expect(pathsOf(plain, looser)).toContain('actuators.a.limits.maxOn');
    }
    expect(pathsOf(plain, made.replace('1m', '2m'))).toEqual(['actuators.a.limits.maxOn', 'actuators.b.limits.maxOn']);
  });

  it.each([
    ['a key twice', 'version: 1\nstatus: { port: 1 }\nstatus: { port: 2 }\n'],
    ['the prototype', 'version: 1\nactuators: [{ __proto__: { limits: {} }, name: a }]\n'],
    ['a tag that makes bytes', 'version: 1\nlabel: !!binary aGVsbG8=\n'],
    ['a tag that makes a date', 'version: 1\nactuators: [{ name: a, limits: !!timestamp 2001-01-01 }]\n'],
    ['a tag of its own', 'version: 1\nlabel: !x hello\n'],
    ['more than a megabyte', `version: 1\n#${'x'.repeat(1024 * 1024)}\n`],
    ['more levels than a configuration has', `version: 1\nlabel: ${'['.repeat(60)}${']'.repeat(60)}\n`],
    ['levels without end', `version: ${'['.repeat(50_000)}`],
    [
      'aliases of aliases',
      `${'abcdefghij'
        .split('')
        .map((name, at, all) => `${name}: &${name} [${at === 0 ? 1 : Array(9).fill(`*${all[at - 1]}`)}]`)
        .join('\n')}\n`,
    ],
    ['no mapping', '- 1\n'],
    ['a second document', 'version: 1\n---\nversion: 1\n'],
    ['nothing', ''],
  ])('is refused before it is looked at with %s', (_what, text) => {
    expect(configurationTree(text)).toMatchObject({ faults: [expect.anything()] });
  });

  it('does not come by a template word that is the prototype', () => {
    const before = 'version: 1\nactuators: [{ name: a, kind: gpio-output, line: GPIO5, limits: { maxOn: 1m } }]\n';
    const after =
      'version: 1\nactuators: [{ name: a, kind: gpio-output, line: GPIO5, each: [{ w: __proto__ }], "{w}": { limits: { maxOn: 1m } } }]\n';
    expect(pathsOf(before, after)).toContain('actuators.a.limits.maxOn');
  });

  it('is refused for items of a name that stands twice', () => {
    const before = 'version: 1\nactuators: [{ name: a, kind: gpio-output, line: GPIO5, limits: { maxOn: 1m } }]\n';
    const after = before.replace('}]', '}, { name: a, kind: gpio-output, line: GPIO5 }]');
    expect(pathsOf(before, after)).toEqual(['actuators']);
  });
});

describe('any sequence of accepted changes', () => {
  /** A step: which place is changed, how, and into which of all values. */
  const step = fc.record({
    place: fc.nat(10_000),
    how: fc.constantFrom('replace', 'remove', 'add', 'double', 'turn' as const),
    value: fc.nat(10_000),
  });
  const start = treeOf(BEFORE);
  const values: readonly unknown[] = [
    ...valuesIn(start),
    '1ms',
    '30d',
    0,
    1e9,
    -1e9,
    Number.NaN,
    null,
    true,
    'on',
    {},
    [],
  ];

  it.each([ALLOW, PLATFORM, PROGRAMS, OUTPUTS])('keeps every guard of the first file (%s)', (allow) => {
    let accepted = 0;
    let refused = 0;
    const first = treeOf(BEFORE.replace(ALLOW, allow));
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 12 }), (steps) => {
        let current = first;
        let guarded = first;
        for (const one of steps) {
          const next = mutated(current, one, values);
          if (lockedChanges(current, next).length > 0) refused += 1;
          else {
            current = next;
            accepted += 1;
            if (allow === OUTPUTS) guarded = withoutGone(guarded, current);
          }
        }
        expect(JSON.stringify(guardsOf(current, guarded, allow))).toBe(
          JSON.stringify(guardsOf(guarded, guarded, allow)),
        );
      }),
      { numRuns: 80, seed: 20261129 },
    );
    expect(accepted).toBeGreaterThan(50);
    expect(refused).toBeGreaterThan(50);
  });
});

type Step = { readonly place: number; readonly how: string; readonly value: number };
type Mapping = Record<string, unknown>;

function containersIn(value: unknown): (Mapping | unknown[])[] {
  if (typeof value !== 'object' || value === null) return [];
  return [value as Mapping, ...Object.values(value).flatMap(containersIn)];
}

function valuesIn(value: unknown): unknown[] {
  return [value, ...(typeof value === 'object' && value !== null ? Object.values(value).flatMap(valuesIn) : [])];
}

function mutated(tree: Tree, { place, how, value }: Step, values: readonly unknown[]): Tree {
  const copy = structuredClone(tree) as Mapping;
  const all = containersIn(copy);
  const into = all[place % all.length] as Mapping;
  const keys = Object.keys(into);
  const key = keys[value % Math.max(1, keys.length)] ?? 'name';
  const given = structuredClone(values[value % values.length]);
  if (Array.isArray(into)) {
    if (how === 'remove') into.splice(Number(key), 1);
    else if (how === 'add') into.splice(Number(key), 0, given);
    else if (how === 'double') into.push(structuredClone(into[Number(key)]));
    else if (how === 'turn') into.reverse();
    else into[Number(key)] = given;
  } else if (how === 'remove') delete into[key];
  else if (how === 'add')
    into[['limits', 'safe', 'interlocks', 'protect', 'kind', 'name'][value % 6] as string] = given;
  else if (how === 'turn') into[key] = typeof into[key] === 'number' ? (into[key] as number) - 1 : given;
  else into[key] = given;
  return copy;
}

/** The file whose guards hold on: an output that was taken out has taken its own with it. */
function withoutGone(first: Tree, current: Tree): Tree {
  const there = new Set((current.actuators as Mapping[] | undefined)?.map(({ name }) => name));
  const outputs = (first.actuators as Mapping[]).filter(({ name }) => there.has(name));
  return Object.assign(structuredClone(first) as Mapping, {
    actuators: outputs.map((output) =>
      Object.assign(structuredClone(output), {
        interlocks: ((output.interlocks ?? []) as Mapping[]).filter((lock) => there.has(lock.with)),
      }),
    ),
    rules: (first.rules as Mapping[]).filter(({ set }) => there.has((set as Mapping).actuator)),
  });
}

/** What of the first file's guards still holds, found by other means than those that are tested. */
function guardsOf(tree: Tree, first: Tree, allow: string): unknown {
  const named = (of: Tree, section: string): Mapping[] => (Array.isArray(of[section]) ? of[section] : []) as Mapping[];
  const amount = (value: unknown): number =>
    typeof value === 'string' ? (parseDuration(value) ?? Number.NaN) : Number(value);
  const locks = (of: Tree): Set<string> =>
    new Set(
      named(of, 'actuators').flatMap(({ name, interlocks = [] }) =>
        (interlocks as unknown[]).map((lock) =>
          [name, typeof lock === 'string' ? lock : (lock as Mapping).with].sort().join(' '),
        ),
      ),
    );
  const outputs = named(first, 'actuators').map((was) => {
    const is = named(tree, 'actuators').filter(({ name }) => name === was.name);
    const [limits, now] = [was.limits ?? {}, is[0]?.limits ?? {}] as [Mapping, Mapping];
    return {
      there: is.length,
      place:
        allow === OUTPUTS ? [] : [is[0]?.kind, is[0]?.line, is[0]?.channel, allow === PROGRAMS ? '' : is[0]?.program],
      safe: is[0]?.safe ?? {},
      limits: Object.entries(limits).map(([name, value]) =>
        name === 'max' || name.startsWith('max')
          ? amount(now[name]) <= amount(value)
          : amount(now[name]) >= amount(value),
      ),
    };
  });
  const runs = [...named(tree, 'sensors'), ...named(tree, 'actuators')].flatMap(({ kind, program }) =>
    kind === 'command' || kind === 'module' || kind === 'process' ? [String(program)] : [],
  );
  const before = new Set(['/usr/bin/load', '/usr/bin/lamp']);
  return {
    count: allow === OUTPUTS ? 0 : named(tree, 'actuators').length,
    outputs,
    interlocks: [...locks(first)].filter((pair) => !locks(tree).has(pair)),
    protecting: named(tree, 'rules').flatMap(({ label: _label, ...rule }) =>
      rule.name === 'dry' && named(first, 'rules').some(({ name }) => name === 'dry') ? [rule] : [],
    ),
    newPrograms: allow === PROGRAMS ? [] : runs.filter((program) => !before.has(program)),
    platform: allow === PLATFORM ? '' : (tree.platform as Mapping | undefined)?.url,
    isNewToken: !/^(fixture-token|undefined|\$\{\w+\})$/.test(
      String((tree.platform as Mapping | undefined)?.accessToken),
    ),
    // A default that is not written is the same.
    remote: Object.assign({ enabled: false, allow: [] }, tree.remoteConfiguration),
    rest: ['rpc', 'hardware', 'stateFolder', 'version'].map((section) => tree[section]),
  };
}
