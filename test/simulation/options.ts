/**
 * Options beside the equipment, as sites differ: each is in some worlds and not in others. Drawn apart from everything else, so that whatever a seed
 * draws stays as it was. What no world has is named in NOT_IN_WORLDS, with the reason.
 */
import { Chance } from './chance.ts';

/** Members of flow mappings, by section; empty where a world has none. */
export interface DrawnOptions {
  readonly platform: string;
  readonly link: string;
  readonly outbox: string;
  readonly upload: string;
  readonly attributes: string;
  readonly status: string;
  readonly shutdown: string;
  readonly log: string;
  readonly methods: string;
  /** Lines of sensors, actuators and rules of the worlds' own equipment, with options that its kind has. */
  readonly dressed: (line: string) => string;
  /** Lines of sensors that no fault of the board hits, with options that the equipment has not, and the periods of those that are read, ms. */
  readonly sensors: readonly string[];
  readonly periods: ReadonlyMap<string, number>;
  readonly actuators: readonly string[];
  /** Alarms on numbers that no double holds. */
  readonly largeAlarms: boolean;
}

const SHARE = 0.35;
const PAGES = [
  'page: "off", metrics: false',
  'page: loopback, port: 8080, metrics: true',
  'page: lan, pin: "471100", metrics: false',
] as const;

export function optionsOf(seed: number): DrawnOptions {
  const chance = new Chance(`options ${seed}`);
  const some = (...members: readonly string[]): string => members.filter(() => chance.happens(SHARE)).join(', ');
  return {
    // The window is drawn apart, so that whatever else a seed draws stays as it was.
    platform: [
      `resendWindow: ${new Chance(`resend window ${seed}`).between(5, 60)}s`,
      some(
        `connectTimeout: ${chance.between(5, 15)}s`,
        `requestTimeout: ${chance.between(10, 20)}s`,
        `pollTimeout: ${chance.between(10, 25)}s`,
        `reconcilePeriod: ${chance.between(60, 300)}s`,
      ),
    ]
      .filter((one) => one !== '')
      .join(', '),
    link: some('daily: 500MB'),
    outbox: some(
      `commitAge: ${chance.between(1, 5)}s`,
      `commitEntries: ${chance.between(200, 2_000)}`,
      'maxAge: 30d',
      'minFree: 1MB',
      'whenFull: thin',
      `backlogRate: ${chance.between(200, 1_000)}/s`,
      'order: oldest-first',
      'timeUncertain: hold',
      `memoryEntries: ${chance.between(5_000, 20_000)}`,
    ),
    upload: some(
      `interval: ${chance.between(0, 15)}s`,
      `maxBatchBytes: ${chance.between(8, 60)}kB`,
      `maxBatchEntries: ${chance.between(100, 1_000)}`,
    ),
    attributes: some(
      'client: { building: A, floor: 2 }',
      `readBackPeriod: ${chance.between(5, 60)}m`,
      'liveSettings: true',
    ),
    status: [some(`telemetryPeriod: ${chance.between(2, 10)}m`), chance.pick(PAGES)]
      .filter((one) => one !== '')
      .join(', '),
    shutdown: some(`drain: ${chance.between(1, 5)}s`),
    log: some(`level: ${chance.pick(['info', 'warn'])}`),
    methods: some(
      'getMotor: { actuator: motorUp, read: true }',
      'stopMotor: { actuator: motorUp, value: off, description: Stops it., mostPerMinute: 30, deadline: 5s }',
      'ring: { actuator: bell, pulse: 500ms }',
      'readDoor: { sensor: door, key: state }',
      'getGpioStatus: { pins: { "7": motorUp, "8": motorDown }, read: true }',
      'setActuator: { allowed: { type: object, properties: { name: { type: string, maxLength: 64 } } } }',
      'own: { command: { program: /bin/true, arguments: [run], idempotent: true, json: false }, params: { type: string, pattern: "^[a-z]+$" } }',
    ),
    largeAlarms: chance.happens(SHARE),
    ...ofEquipment(chance),
  };
}

const SERIAL = 'baudRate: 9600, dataBits: 8, parity: even, stopBits: 1';
/** Options by what a line of the configuration contains. */
const DRESSES: readonly (readonly [contains: RegExp, ...members: readonly string[]])[] = [
  [/kind: gpio-input/, 'bias: pull-up', 'debounce: 20ms', 'activeLow: true'],
  [/kind: gpio-counter/, 'bias: pull-down', 'debounce: 1ms', 'activeLow: true', 'edge: falling', 'saveEvery: 5m'],
  [/kind: bme280/, 'oversampling: { temperature: 2, pressure: 4, humidity: 1 }', 'filter: 4'],
  [/kind: bh1750/, 'mode: high2'],
  [/kind: ds18b20/, 'resolution: 11'],
  [/kind: serial-line/, SERIAL, 'delimiter: "\\n", maxLine: 8kB'],
  [/kind: nmea/, SERIAL],
  [
    /name: bell/,
    'desiredKey: ringNow',
    'operatorUntil: release',
    'telemetry: false',
    'restore: false',
    'limits: { maxSwitchesPerHour: 100000 }',
  ],
  [/name: flap/, 'stateKey: flapStands', 'maxPulse: 10m'],
];
const DRESSES_OF_RULES: typeof DRESSES = [[/name: cooling/, 'sensorLost: off', 'lostAfter: 10m']];
const CUP = '{ temperature: { deadband: 5 % }, humidity: { report: false } }';
const MAST =
  'kind: bme280, bus: 6, address: 118, enabled: true, deadline: 2s, align: true, window: { length: 1m, statistics: [mean, max, count] }, keys: { temperature: { rename: mastTemperature, round: 1, unit: °C, scale: 1, offset: 0, minInterval: 5s, maxInterval: 10m }, humidity: { report: false }, pressure: { deadband: 0.5 } }';
const REGISTERS =
  'volts: { table: input, address: 0, type: float32, wordOrder: little, byteOrder: big, scale: 2, offset: 1, unit: V, noValue: 65535 }, fault: { address: 20, type: bool, bit: 3 }, model: { address: 30, type: string, length: 4 }';
const LINE = `${SERIAL}, responseTimeout: 500ms`;

/** Equipment of its own places, and what is added to the lines of the rest. */
function ofEquipment(chance: Chance): Pick<DrawnOptions, 'dressed' | 'sensors' | 'periods' | 'actuators'> {
  const own: readonly (readonly [name: string, seconds: number, words: string])[] = [
    ['mast', 10, MAST],
    [
      'cup',
      30,
      `kind: serial-line, port: /dev/ttyUSB5, format: csv, columns: [temperature, humidity], separator: ",", keys: ${CUP}`,
    ],
    ['press', 20, 'kind: serial-line, port: /dev/ttyUSB6, format: regex, pattern: "^P(?<bar>[0-9.]+)$"'],
    [
      'inverter',
      15,
      `kind: modbus, connection: { transport: rtu, port: /dev/ttyUSB7, ${LINE} }, maxGap: 4, registers: { ${REGISTERS} }`,
    ],
  ];
  const drawn = own.filter(() => chance.happens(SHARE));
  const setPoint = `  - { name: setPoint, kind: modbus-write, connection: { transport: rtu, port: /dev/ttyUSB8, ${LINE} }, unitId: 5, address: 100, type: int16, wordOrder: big, byteOrder: big, scale: 0.1, offset: 0, readBack: true, limits: { min: 5, max: 30, step: 0.5 }, safe: { noContact: { after: 1h, value: 15 } } }`;
  const drawnOf = (of: typeof DRESSES) =>
    of.map(([contains, ...members]) => ({ contains, members: members.filter(() => chance.happens(SHARE)) }));
  const dressesOfParts = drawnOf(DRESSES);
  const actuators = chance.happens(SHARE) ? [setPoint] : [];
  const dresses = [...dressesOfParts, ...drawnOf(DRESSES_OF_RULES)];
  return {
    dressed: (line) =>
      dresses
        .filter(({ contains, members }) => contains.test(line) && members.length > 0)
        .reduce((so, { members }) => so.replace(/ \}$/, `, ${members.join(', ')} }`), line),
    sensors: drawn.map(([name, seconds, words]) => `  - { name: ${name}, period: ${seconds}s, ${words} }`),
    periods: new Map(drawn.map(([name, seconds]) => [name, seconds * 1_000])),
    actuators,
  };
}

/** Words of the conversion chain that registers have, too. */
const CONVERSION = ['nulls', 'map', 'bytes', 'mask', 'shift', 'bcd', 'signMagnitude'] as const;

/** Beginnings of paths that no world's configuration has. */
export const NOT_IN_WORLDS: readonly (readonly [beginning: string, reason: string])[] = [
  ['status.control', 'nobody opens a page in a world; test/unit/page-server/page-door.test.ts'],
  ['platform.accessTokenFile', 'secrets come through the real reader; test/unit/config holds the three ways'],
  ['platform.accessTokenCredential', 'as accessTokenFile'],
  ['platform.caFile', 'the network of a world has no TLS'],
  ['platform.clientCertificateFile', 'as caFile'],
  ['platform.clientKeyFile', 'as caFile'],
  ['platform.proxy', 'the network of a world has no hosts; test/unit/platform/connections.test.ts has proxies'],
  ['link.metered', 'no world lasts a month; src/link/ladder.test.ts has a hundred of them'],
  ['link.monthly', 'as link.metered'],
  ['link.resetDay', 'as link.metered'],
  ['link.wake', 'as link.metered'],
  ['link.firmware', 'as link.metered'],
  ['platform.codec', 'contract tests run both codecs; strangers of a world speak JSON'],
  ['provisioning.deviceKeyFile', 'as accessTokenFile'],
  ['provisioning.deviceKeyCredential', 'as accessTokenFile'],
  ['provisioning.deviceSecretFile', 'as accessTokenFile'],
  ['provisioning.deviceSecretCredential', 'as accessTokenFile'],
  ['provisioning.onOtherBoard', 'a moved card provisions by the default; test/unit/provisioning holds the others'],
  ['devices[].label', 'a word of names; device-names.test.ts'],
  ['remoteConfiguration.title', 'packages are the lab’s: configuration-trial.test.ts'],
  ...['label', 'sensors[].label', 'sensors[].class', 'sensors[].keys.*.label', 'sensors[].keys.*.class'].map(
    (path) => [`${path}$`, 'for people alone; test/unit/names and src/config/checks/classes.test.ts'] as const,
  ),
  ...['sensors[].keys.*.alarms[].label', 'actuators[].label', 'actuators[].class', 'rules[].label'].map(
    (path) => [`${path}$`, 'as label'] as const,
  ),
  ['devices[].provisioning.keyFile', 'as platform.accessTokenFile'],
  ['devices[].provisioning.keyCredential', 'as platform.accessTokenFile'],
  ['devices[].provisioning.secretFile', 'as platform.accessTokenFile'],
  ['devices[].provisioning.secretCredential', 'as platform.accessTokenFile'],
  ['devices[].accessTokenFile', 'as platform.accessTokenFile'],
  ['devices[].accessTokenCredential', 'as platform.accessTokenFile'],
  ['devices[].firmware', 'test/integration/attached-firmware.test.ts'],
  ['time.trust', 'clocks of worlds are judged under the default; test/unit/host/time-sync tests hold the others'],
  ['hardware.', 'a world is its board'],
  ['sensors[].prefix', 'names keys only: test/field-cases/templates.test.ts'],
  ...['bytes', 'signMagnitude', 'bcd', 'type', 'decimal', 'radix'].map(
    (word) =>
      [
        `sensors[].keys.*.${word}`,
        'the converter of a world shows whole numbers; test/field-cases/conversion.test.ts',
      ] as const,
  ),
  ...['nulls', 'min$', 'max$', 'maxStep'].map(
    (word) =>
      [
        `sensors[].keys.*.${word}`,
        'a refused value is an alert, which no world’s calm has; test/field-cases/conversion.test.ts',
      ] as const,
  ),
  ...CONVERSION.map((word) => [`sensors[](modbus).registers.*.${word}`, 'as in keys'] as const),
  ['sensors[](modbus).registers.*.scaleFrom', 'as in keys'],
  ['sensors[](modbus).registers.*.class', 'as in keys'],
  ['sensors[](serial-line).encoding', 'lines of a world are ASCII: test/field-cases'],
  ...['preset', 'frame', 'fields', 'check', 'requestHex', 'answers'].map(
    (word) =>
      [
        `sensors[](serial-line).${word}`,
        'the talkers of a world print lines: test/field-cases/serial.test.ts',
      ] as const,
  ),
  ...['encryptionKey', 'authenticationKey'].map(
    (word) => [`sensors[](serial-line).${word}`, 'no talker of a world encrypts: test/field-cases/p1.test.ts'] as const,
  ),
  ['sensors[](nmea).checksum', 'receivers of a world count: test/field-cases/nmea.test.ts'],
  ['sensors[](nmea).sentences', 'as checksum'],
  ['sensors[](nmea).transducers', 'as checksum'],
  ['sensors[](http)', 'the network of a world has no hosts: src/sensors/http/http.test.ts'],
  ['sensors[](derived).saveEvery', 'of integrals alone: src/sensors/derived/derived.test.ts'],
  ...['sensors[](modbus)', 'actuators[](modbus-write)'].flatMap((user) =>
    ['connectDelay', 'betweenRequests', 'lenient', 'echo'].map(
      (word) =>
        [
          `${user}.connection.${word}`,
          'units of a world are quick and exact: test/field-cases/modbus.test.ts',
        ] as const,
    ),
  ),
  [
    'actuators[](modbus-write).bit',
    'units of a world have a register for each output: test/field-cases/modbus.test.ts',
  ],
  ['actuators[](modbus-write).writeFunction', 'as bit'],
  ...['registers[].address', 'registers[].type', 'registers[].scale', 'registers[].offset', 'registers[].value'].map(
    (word) => [`actuators[](modbus-write).${word}`, 'as bit; test/field-cases/modbus-outputs.test.ts'] as const,
  ),
  ['actuators[](modbus-write).inOneWrite', 'as registers'],
  ['actuators[](modbus-write).map.*', 'as registers'],
  [
    'actuators[](modbus-write).repeatEvery',
    'units of a world forget nothing: test/unit/actuators/output-upkeep.test.ts and test/field-cases/modbus-outputs.test.ts',
  ],
  [
    'actuators[](modbus-write).maxPulse',
    'people of a world ask for short pulses: test/field-cases/modbus-outputs.test.ts',
  ],
  ['sensors[](modbus).model', 'its registers are read before a world begins: test/unit/config/models.test.ts'],
  ['sensors[](modbus).only', 'as model'],
  ['rules[].enabled', 'a rule that is off does nothing'],
  [
    'rules[].protect',
    'refuses the people of a world, who reckon with no refusal of a rule: test/unit/actuators/local-rules.test.ts',
  ],
  ...['all', 'any', 'not', 'time', 'weekdays', 'dates'].map(
    (word) => [`rules[].when.${word}`, 'drawn by the next change; test/unit/config/condition-truth.test.ts'] as const,
  ),
  ['rules[].set.curve', 'drawn by the next change, with a fan that turns; test/unit/actuators/local-rules.test.ts'],
  ['rules[].when.below', 'the mirror of above: test/unit/actuators/rules tests'],
  ['rules[].when.equal', 'test/unit/actuators/rules tests'],
  ['rpc.enabled', 'a world without RPC has no commands to judge'],
  ...['equal', 'all', 'any', 'not', 'time', 'weekdays', 'dates'].map(
    (word) =>
      [`sensors[].keys.*.alarms[].${word}`, 'as in rules; test/unit/telemetry/alarm-thresholds.test.ts'] as const,
  ),
  [
    'sensors[].keys.*.alarms[].for',
    'values cross their limits for seconds; test/unit/telemetry/alarm-thresholds.test.ts',
  ],
  ['rpc.lockout.file', 'a key switch stands for both; test/unit/actuators/lockout tests'],
  ['rpc.lockout.activeLow', 'as rpc.lockout.file'],
  ['rpc.methods.*.enabled', 'a method that is off is refused: test/unit/rpc'],
  ['firmware.enabled', 'a world without updates has no offers to judge'],
  ['firmware.title', 'offers to the agent itself are the lab’s'],
  ['firmware.installFolder', 'as firmware.title'],
  ['firmware.guardFolder', 'as firmware.title'],
  ['firmware.trustedKeys', 'as firmware.title'],
  ['firmware.allowDowngrade', 'as firmware.title'],
  ['firmware.maxSize', 'test/unit/firmware holds bounds of images'],
  ['firmware.rateLimit', 'as firmware.maxSize'],
  ['firmware.hours', 'as firmware.maxSize'],
  ['firmware.downloadDeadline', 'as firmware.maxSize'],
  ['firmware.confirm', 'as firmware.title'],
  ['sensors[](serial-line).channels.type', 'meters behind a P1 port; test/field-cases/presets.test.ts'],
  ['sensors[](serial-line).channels.value', 'as channels.type'],
  ['sensors[](serial-line).channels.clock', 'as channels.type, and test/unit/sensors/channel-values.test.ts'],
  ['sensors[](serial-line).channels.staleAfter', 'as channels.clock'],
  ['sensors[].keys.*.asText.prefix', 'texts of digits; test/field-cases/texts.test.ts'],
  ['sensors[](serial-line).variant', 'words of a preset; test/unit/config/presets.test.ts'],
  ['sensors[](serial-line).channels.keys.*', 'as channels.type'],
  ...['key', 'keyFile', 'keyCredential', 'secret', 'secretFile', 'secretCredential'].map(
    (word) =>
      [`provisioning.devices.${word}`, 'as devices[].provisioning; test/unit/office/platform-setup.test.ts'] as const,
  ),
  ['firmware.handlers[].requireSignature', 'worlds have no signed packages; test/unit/firmware'],
  ['firmware.handlers[].allowWithoutChecksum', 'as firmware.handlers[].requireSignature'],
  ['firmware.handlers[].source[]', 'as firmware.handlers[].requireSignature'],
  ['firmware.handlers[].package', 'as firmware.maxSize'],
  ['firmware.handlers[].timeout', 'as firmware.maxSize'],
  ['status.pinFile', 'as accessTokenFile'],
  ['status.pinCredential', 'as accessTokenFile'],
  [
    'sensors[](modbus).connection.host',
    'the bus of a world is a line; test/unit/hardware and the lab have units behind TCP',
  ],
  ['actuators[](modbus-write).connection.host', 'as for sensors'],
  ['actuators[](mqtt)', 'as brokers[]; src/actuators/mqtt'],
  [
    'brokers[]',
    'the network of a world has no hosts: test/unit/hardware/mqtt.test.ts and test/integration/mqtt-kills.test.ts',
  ],
  ['lines[]', 'the bus of a world is one port; test/field-cases/shared-lines.test.ts'],
  ['actuators[](modbus-write).connection.on', 'as lines[]'],
  ['actuators[](modbus-write).connection.rs485', 'as lines[]'],
  ['sensors[](modbus).connection.on', 'as lines[]'],
  ['sensors[](modbus).connection.rs485', 'as lines[]'],
  ['sensors[](nmea).on', 'as lines[]'],
  ['sensors[](nmea).rs485', 'as lines[]'],
  ['sensors[](serial-line).on', 'as lines[]'],
  ['sensors[](serial-line).rs485', 'as lines[]'],
  ...['before', 'after', 'responseTimeout'].map(
    (word) => [`sensors[](serial-line).${word}`, 'as lines[]; src/sensors/serial-line'] as const,
  ),
  ...['send', 'sendHex', 'expect'].map(
    (word) => [`rpc.methods.*.${word}`, 'as lines[]; test/field-cases/shared-lines.test.ts'] as const,
  ),
  ['analytics', 'reports are asked for by commands, and by no agent'],
  ['actuators[].safe.crash', 'set by the stop hook, which is the lab’s'],
  [
    'actuators[].enabled',
    'one that is off is not opened; interlocks with it are held by test/unit/actuators/gates.test.ts',
  ],
];

/**
 * Kinds whose drivers are judged by their twins and examples: a world has one of each bus and port, and its faults are the bus's. The same
 * holds for every chip that a scan knows and no world has.
 */
export const KINDS_NOT_IN_WORLDS: readonly string[] =
  'command dlms gpio-frequency host hwmon i2c-register iec62056 iio mbus module mqtt process pwm pylontech serial-write sml sunspec'.split(
    ' ',
  );
