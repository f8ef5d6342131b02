/** A first configuration that passes check-config, and a look at what hangs on a bus or port. */

import { DEFAULT_CONFIG_FILE } from '../../config/fields/default-places.ts';
import {
  argument,
  type Call,
  choice,
  command,
  duration,
  negation,
  taking,
  toggle,
  valued,
  webAddress,
  wholeNumber,
} from '../command.ts';
import { SENTENCES } from '../sentences.ts';

const PAGES = ['off', 'loopback', 'lan'] as const;

const variable = taking(
  'a variable has letters, digits and _',
  (text) => /^[A-Za-z_][A-Za-z0-9_]{0,127}$/.exec(text)?.[0],
);

const INIT_OPTIONS = {
  yes: toggle('ask nothing: flags and defaults decide'),
  url: valued('<url>', 'address of the platform', { parse: webAddress }),
  accessTokenFile: valued('<file>', 'the device’s access token, in a file'),
  accessTokenEnv: valued('<name>', 'the device’s access token, in an environment variable of the service', {
    parse: variable,
  }),
  provisionKeyFile: valued('<file>', 'the device profile’s provision key, in a file'),
  provisionSecretFile: valued('<file>', 'the device profile’s provision secret, in a file'),
  name: valued('<template>', 'device name for provisioning, from {serial}, {mac}, {machineId}, {hostname}'),
  caFile: valued('<file>', 'certificate authority of the platform'),
  stateFolder: valued('<folder>', 'where everything that must survive is kept'),
  runFolder: valued('<folder>', 'where control sockets are'),
  page: choice('<where>', 'status page: off, loopback or lan; lan needs a PIN', PAGES),
  pinFile: valued('<file>', 'the status page’s PIN, in a file'),
  remoteConfiguration: toggle(
    'let this configuration be changed from afar and on the status page, each change on trial; otherwise it is asked',
  ),
  simulate: valued('<socket>', 'look at a simulated board, and use it'),
  try: negation('try nothing: neither the platform, as on a machine without network, nor the sensors'),
  scan: negation('do not look at the buses'),
  listen: negation('do not listen on serial ports'),
  devices: toggle(
    'each meter on a serial port is a device of its own on the platform; where several are found it is asked',
  ),
  out: valued('<file>', 'the file to write', { byDefault: DEFAULT_CONFIG_FILE }),
  force: toggle('overwrite it'),
  json: toggle('print what was found and written as JSON'),
};
export type InitCall = Call<typeof INIT_OPTIONS>;

export const INIT = command('init', {
  says: SENTENCES.init,
  options: INIT_OPTIONS,
  takesSettings: true,
  examples: [
    'init',
    'init --yes --url https://iot.example.org --provision-key-file key --provision-secret-file secret',
    'init --yes --url https://iot.example.org --access-token-file /etc/turnstone/token --out gateway.yaml',
  ],
  notes: `\
Secrets are never arguments: they come from a prompt, a file or an environment variable.
Each answer is judged as it is given: the platform is asked at its address, and whether it knows the token. Each sensor that was found is read once; a
chip that gives no reading is written as a comment. With --yes the platform is not asked.

To tell I2C chips apart a register of each that answers is read. A few simple converters, expanders and bus switches have none and take the register’s
number for a setting: where one of them drives something, say --no-scan, and look with turnstone scan i2c --addresses-only.`,
  run: async (call) => (await import('../init.ts')).initialise(call),
});

const BUSES = ['i2c', 'serial', 'gpio', 'one-wire', 'modbus', 'mqtt', 'iio', 'hwmon'] as const;
export type BusKind = (typeof BUSES)[number];

const PARITIES = ['none', 'even', 'odd'] as const;

/** A list with commas, of which every part is understood. */
function severalOf<T>(says: string, read: (part: string) => readonly T[]): (text: string) => readonly T[] {
  return taking(`a list ${says}`, (text) => {
    const parts = text.split(',').map(read);
    return parts.some((part) => part.length === 0) ? undefined : [...new Set(parts.flat())];
  });
}

/** `3` or `1-32`. Units of a serial line are numbered to 247; over TCP 255 is a gateway itself. */
function unitNumbers(part: string): readonly number[] {
  const [, first, last = first] = /^([1-9]\d{0,2})(?:-(\d{1,3}))?$/.exec(part) ?? [];
  const [from, to] = [Number(first), Number(last)];
  return to <= 255 && from <= to ? Array.from({ length: to - from + 1 }, (_, at) => from + at) : [];
}

const baudRates = severalOf('such as 9600,19200', (part) => (/^\d{3,6}$/.test(part) ? [Number(part)] : []));
const parities = severalOf(`of ${PARITIES.join(', ')}`, (part) => PARITIES.filter((one) => one === part));

const SCAN_ARGUMENTS = {
  bus: argument(BUSES.join(', '), { choices: BUSES }),
};
const SCAN_OPTIONS = {
  bus: valued('<number>', 'only this I2C bus', { parse: wholeNumber('the N of /dev/i2c-N', 0, 999) }),
  addressesOnly: toggle('on I2C, show who answers and write nothing to them'),
  config: valued('<file>', 'use the hardware section of this configuration'),
  simulate: valued('<socket>', 'look at the simulated board on this socket'),
  port: valued('<port>', 'serial port to listen on, or of a Modbus line; with --host its TCP port', {
    byDefault: '502',
  }),
  broker: valued('<broker>', 'MQTT broker to listen at: mqtt://host, mqtts://host, or its name under brokers:'),
  user: valued('<name>', 'user at the broker; its password comes from a prompt, a file, or the variable MQTT_PASSWORD'),
  passwordFile: valued('<file>', 'the password of that user, in a file'),
  for: valued('<time>', 'how long to listen, at each speed or at the broker', {
    parse: duration('a time such as 12s', 10),
    byDefault: 3_000,
  }),
  ask: toggle('on silent serial ports, send the requests of presets, and ask each M-Bus address'),
  host: valued('<host>', 'Modbus device or gateway in the network'),
  transport: choice('<way>', 'how the host is spoken to', ['tcp', 'rtu-over-tcp', 'ascii-over-tcp'], 'tcp'),
  baud: valued('<rates>', 'baud rates to try on a Modbus line', { parse: baudRates, byDefault: [9_600, 19_200] }),
  parity: valued('<parities>', 'parities to try on a Modbus line', {
    parse: parities,
    byDefault: parities('none,even'),
  }),
  units: valued('<numbers>', 'Modbus units to ask (1-32), or M-Bus addresses (0-250)', {
    parse: severalOf('such as 1-32,247', unitNumbers),
  }),
  timeout: valued('<time>', 'how long a unit or meter has to answer', {
    parse: duration('a time such as 300ms', 10),
    byDefault: 300,
  }),
  devices: toggle('of Modbus, M-Bus and MQTT, show each meter or device as a device of its own on the platform'),
  json: toggle('print what was found as JSON'),
};
export type ScanCall = Call<typeof SCAN_OPTIONS, typeof SCAN_ARGUMENTS>;

export const SCAN = command('scan', {
  says: SENTENCES.scan,
  arguments: SCAN_ARGUMENTS,
  options: SCAN_OPTIONS,
  takesSettings: true,
  examples: [
    'scan i2c',
    'scan i2c --bus 1 --json',
    'scan serial',
    'scan serial --port /dev/ttyUSB0 --ask',
    'scan modbus --port /dev/ttyUSB0',
    'scan modbus --host 192.168.1.20',
    'scan mqtt --broker mqtt://192.168.1.10 --user turnstone --for 1m',
    'scan iio',
  ],
  notes: `\
Nothing is configured. Serial ports are listened to, and nothing is written to them without --ask; some meters speak every ten seconds only (--for 12s),
and a few boards restart when their port is opened. Modbus units are read, and nothing is written to them (functions 1
to 4, 17 and 43, and 8 after a lost answer); a port or host that the running agent uses is not scanned. To tell I2C chips apart a register of each that
answers is read. A few simple converters, expanders and bus switches have none and take the register’s number for a setting: where one of them drives
something, look with --addresses-only. At a broker announcements of Zigbee2MQTT, Home Assistant, Shelly and Tasmota are listened to, and nothing is
published. Anybody who may publish there may announce things: look at what is shown before it is pasted.`,
  run: async (call) => (await import('../scan.ts')).scan(call),
});
