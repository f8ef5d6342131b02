/**
 * Kinds that people write and that have no driver here, each with another way to its values. Loaded when a configuration has an unknown kind, and by
 * the doctor when a driver of the kernel is missing.
 *
 * Drivers are those of Linux (drivers/iio, drivers/hwmon, drivers/pinctrl, drivers/gpio, drivers/pwm), by the name that they give; overlays are those of
 * Raspberry Pi's kernel (arch/arm/boot/dts/overlays: i2c-sensor-common.dtsi, README).
 */
import { nearest } from '../config/fields/did-you-mean.ts';
import { addresses } from '../sensors/kind/definition.ts';

/** How the kernel is told of a chip. */
type Loading =
  /** Line of Raspberry Pi's config.txt. */
  | { readonly overlay: string }
  /** Name in the driver's table of I2C chips, where no overlay has it. */
  | { readonly i2cName: string; readonly module: string }
  /** No overlay of Raspberry Pi selects it. */
  | { readonly compatible: string };

export interface KernelChip {
  readonly way: 'iio' | 'hwmon';
  /** Name that the driver gives. */
  readonly driver: string;
  readonly loading: Loading;
  /** I2C addresses at which it may answer, the usual one first; none on another bus. */
  readonly addresses?: readonly number[] | undefined;
  /** Words to read before it is used. */
  readonly note?: string | undefined;
}

/** Expander of GPIO lines, by the label of its chip, or PWM controller, by the name of its device. */
interface OutputChip {
  readonly way: 'gpio' | 'pwm';
  readonly label: string;
  readonly loading: Loading;
}

/** Another kind, with the members of its section beside name and kind; the first that there is counts. */
interface OtherWay {
  readonly way: 'kinds';
  readonly says: string;
  readonly kinds: readonly { readonly kind: string; readonly members: string }[];
  /** Way of its outputs, where it has some. */
  readonly output?: OutputWay | undefined;
}

interface OutputWay {
  readonly says: string;
  readonly kind: string;
  readonly members: string;
}

type OtherKind = KernelChip | OutputChip | OtherWay;

const sensorOverlay = (parameter: string): Loading => ({ overlay: `dtoverlay=i2c-sensor,${parameter}` });
const overlay = (line: string): Loading => ({ overlay: `dtoverlay=${line}` });
const chipBy =
  (way: KernelChip['way']) =>
  (driver: string, loading: Loading, at?: readonly number[], note?: string): KernelChip => ({
    way,
    driver,
    loading,
    addresses: at,
    note,
  });
const iio = chipBy('iio');
const hwmon = chipBy('hwmon');

const program = (path: string, says: string): OtherWay => ({
  way: 'kinds',
  says,
  kinds: ['process', 'command'].map((kind) => ({ kind, members: `program: ${path}, format: json` })),
  output: { says: 'a program of your own moves it', kind: 'process', members: `program: ${path}` },
});
const BROKER = '(brokers: [{ name: house, url: mqtt://localhost }])';
/** @param topics topic of the commands, and that of the state with the place in it. */
const atBroker = (says: string, topics: string, send = '{ on: "ON", off: "OFF" }'): OutputWay => ({
  says: `${says} ${BROKER}`,
  kind: 'mqtt',
  members: `broker: house, ${topics}, send: ${send}`,
});
const ZIGBEE_PLUG = atBroker(
  'Zigbee2MQTT takes commands at a broker',
  'topic: zigbee2mqtt/plug/set, stateTopic: zigbee2mqtt/plug, statePath: state',
  `{ on: '{"state":"ON"}', off: '{"state":"OFF"}' }`,
);
const broker = (root: string, rest: string, says: string, output?: OutputWay): OtherWay => ({
  way: 'kinds',
  says: `${says} ${BROKER}`,
  output,
  kinds: [
    { kind: 'mqtt', members: `broker: house, topic: ${root}/${rest}` },
    {
      kind: 'command',
      members: `program: /usr/bin/mosquitto_sub, arguments: [-C, '1', -W, '25', -t, ${root}/${rest}], period: 30s, deadline: 28s, format: json`,
    },
  ],
});

/** Drivers that give the place of the chip for its name. */
const OWN_PLACE = 'the driver names it by its place';
const MCP342X = `${OWN_PLACE}, and its scale is in V where others have mV: keys: { voltage0: { scale: 1000 } }`;
const DHT = iio('dht11', overlay('dht11,gpiopin=4'), undefined, 'each read takes a while: period: 10s or longer');
const SHT4X = hwmon('sht4x', sensorOverlay('sht4x'), [0x44, 0x45, 0x46]);
const INA = (driver: string, note?: string): KernelChip =>
  hwmon(driver, { i2cName: driver, module: 'ina2xx' }, addresses(0x40, 0x4f), note);

const OTHER_KINDS: Readonly<Record<string, OtherKind>> = {
  bme680: iio('bme680', sensorOverlay('bme680'), [0x76, 0x77]),
  bme688: iio(
    'bme680',
    sensorOverlay('bme680'),
    [0x76, 0x77],
    'the driver is that of the BME680: leave out its resistance',
  ),
  bmp180: iio('bmp180', sensorOverlay('bmp180'), [0x77]),
  bmp085: iio('bmp085', sensorOverlay('bmp085'), [0x77]),
  bmp380: iio('bmp380', sensorOverlay('bmp380'), [0x76, 0x77]),
  bmp388: iio('bmp380', sensorOverlay('bmp380'), [0x76, 0x77], 'the driver is that of the BMP380'),
  scd4x: iio('scd41', { i2cName: 'scd41', module: 'scd4x' }, [0x62]),
  scd40: iio('scd40', { i2cName: 'scd40', module: 'scd4x' }, [0x62]),
  scd41: iio('scd41', { i2cName: 'scd41', module: 'scd4x' }, [0x62]),
  scd30: iio('scd30', { i2cName: 'scd30', module: 'scd30_i2c' }, [0x61]),
  sps30: iio('sps30', sensorOverlay('sps30'), [0x69]),
  sgp30: iio('sgp30', sensorOverlay('sgp30'), [0x58]),
  ccs811: iio('ccs811', sensorOverlay('ccs811'), [0x5b, 0x5a]),
  htu21: iio('htu21', sensorOverlay('htu21'), [0x40]),
  htu21d: iio('htu21', sensorOverlay('htu21'), [0x40]),
  si7020: iio('1-0040', sensorOverlay('si7020'), [0x40], OWN_PLACE),
  si7021: iio('1-0040', sensorOverlay('si7020'), [0x40], OWN_PLACE),
  hdc1080: iio('1-0040', sensorOverlay('hdc100x'), [0x40], OWN_PLACE),
  dht11: DHT,
  dht22: DHT,
  am2302: DHT,
  am2301: DHT,
  ads1015: iio('ads1015', overlay('ads1015'), addresses(0x48, 0x4b)),
  mcp3008: iio('mcp3008', overlay('mcp3008,spi0-0-present')),
  mcp3202: iio('mcp3202', overlay('mcp3202,spi0-0-present')),
  mcp3208: iio('mcp3208', { compatible: 'microchip,mcp3208' }),
  mcp3421: iio('1-0068', overlay('mcp342x,mcp3421'), addresses(0x68, 0x6f), MCP342X),
  mcp3422: iio('1-0068', overlay('mcp342x,mcp3422'), addresses(0x68, 0x6f), MCP342X),
  mcp3424: iio('1-0068', overlay('mcp342x,mcp3424'), addresses(0x68, 0x6f), MCP342X),
  hx711: iio('hx711', { compatible: 'avia,hx711' }, undefined, 'a program of your own reads it, too'),
  max6675: iio('max6675', overlay('maxtherm,spi0-0,max6675')),
  max31855: iio('max31855', overlay('maxtherm,spi0-0,max31855')),
  max31856: iio('max31856', overlay('maxtherm,spi0-0,max31856,type_k')),
  max31865: iio('max31865', { compatible: 'maxim,max31865' }),
  mcp9600: iio('mcp9600', { i2cName: 'mcp9600', module: 'mcp9600' }, addresses(0x60, 0x67)),
  tmp117: iio('tmp117', { i2cName: 'tmp117', module: 'tmp117' }, addresses(0x48, 0x4b)),
  tsl2591: iio('tsl2591', { i2cName: 'tsl2591', module: 'tsl2591' }, [0x29]),
  tsl4531: iio('tsl4531', sensorOverlay('tsl4531'), [0x29]),
  veml6070: iio('veml6070', sensorOverlay('veml6070'), [0x38]),
  vl53l0x: iio('vl53l0x', { i2cName: 'vl53l0x', module: 'vl53l0x-i2c' }, [0x29]),
  mpu6050: iio('mpu6050', overlay('mpu6050,interrupt=4'), [0x68, 0x69]),
  mpu9250: iio('mpu9250', sensorOverlay('mpu9250'), [0x68, 0x69]),
  ms5637: iio('ms5637', sensorOverlay('ms5637'), [0x76]),
  sht4x: SHT4X,
  sht40: SHT4X,
  sht41: SHT4X,
  sht45: SHT4X,
  sht2x: hwmon('sht21', { i2cName: 'sht21', module: 'sht21' }, [0x40]),
  sht20: hwmon('sht20', { i2cName: 'sht20', module: 'sht21' }, [0x40]),
  sht21: hwmon('sht21', { i2cName: 'sht21', module: 'sht21' }, [0x40]),
  sht25: hwmon('sht25', { i2cName: 'sht25', module: 'sht21' }, [0x40]),
  shtc3: hwmon('shtc3', { i2cName: 'shtc3', module: 'shtc1' }, [0x70]),
  aht10: hwmon('aht10', sensorOverlay('aht10'), [0x38, 0x39]),
  aht20: hwmon('aht20', { i2cName: 'aht20', module: 'aht10' }, [0x38], 'Linux 6.5 or newer'),
  ds1621: hwmon('ds1621', sensorOverlay('ds1621'), addresses(0x48, 0x4f)),
  adt7410: hwmon('adt7410', sensorOverlay('adt7410'), addresses(0x48, 0x4b)),
  ina226: INA('ina226'),
  ina230: INA('ina230'),
  ina231: INA('ina231'),
  ina260: INA('ina260', 'Linux 6.13 or newer'),
  ina3221: hwmon('ina3221', { i2cName: 'ina3221', module: 'ina3221' }, addresses(0x40, 0x43)),
  mcp23017: { way: 'gpio', label: 'mcp23017', loading: overlay('mcp23017,addr=0x20,noints') },
  mcp23008: { way: 'gpio', label: 'mcp23008', loading: overlay('mcp23017,mcp23008,addr=0x20,noints') },
  mcp23s17: { way: 'gpio', label: 'mcp23s17', loading: overlay('mcp23s17,s17-spi0-0-present=1') },
  pcf8574: { way: 'gpio', label: '1-0020', loading: overlay('pcf857x,pcf8574,addr=0x20') },
  pcf8574a: { way: 'gpio', label: '1-0038', loading: overlay('pcf857x,pcf8574a,addr=0x38') },
  pcf8575: { way: 'gpio', label: '1-0020', loading: overlay('pcf857x,pcf8575,addr=0x20') },
  pca9555: { way: 'gpio', label: '1-0020', loading: overlay('pca953x,pca9555,addr=0x20') },
  tca9554: { way: 'gpio', label: '1-0020', loading: overlay('pca953x,tca9554,addr=0x20') },
  tca9555: { way: 'gpio', label: '1-0020', loading: overlay('pca953x,pca9555,addr=0x20') },
  pca9685: { way: 'pwm', label: '1-0040', loading: overlay('i2c-pwm-pca9685a,addr=0x40') },
  lm75a: { way: 'kinds', says: 'an LM75A is read by', kinds: [{ kind: 'lm75', members: 'bus: 1, address: 0x48' }] },
  ads1115: { way: 'kinds', says: 'it is read by', kinds: [{ kind: 'ads1115', members: 'bus: 1, address: 0x48' }] },
  shelly: {
    way: 'kinds',
    says: 'a Shelly answers over HTTP',
    kinds: [{ kind: 'http', members: 'url: http://192.168.1.40/rpc/Shelly.GetStatus' }],
    output: atBroker(
      'a Shelly takes commands at a broker',
      'topic: shelly/command/switch:0, stateTopic: shelly/status/switch:0, statePath: output',
      '{ on: "on", off: "off" }',
    ),
  },
  tasmota: {
    way: 'kinds',
    says: 'Tasmota answers over HTTP',
    kinds: [{ kind: 'http', members: "url: 'http://192.168.1.41/cm?cmnd=Status%208'" }],
    output: atBroker('Tasmota takes commands at a broker', 'topic: cmnd/plug/POWER, stateTopic: stat/plug/POWER'),
  },
  esphome: {
    way: 'kinds',
    says: 'ESPHome answers over HTTP where web_server: is in its file',
    kinds: [{ kind: 'http', members: 'url: http://192.168.1.42/sensor/temperature, paths: { temperature: value }' }],
    output: atBroker(
      'ESPHome takes commands at a broker where mqtt: is in its file',
      'topic: plug/switch/relay/command, stateTopic: plug/switch/relay/state',
    ),
  },
  zigbee2mqtt: broker('zigbee2mqtt', 'hall', 'Zigbee2MQTT publishes at a broker', ZIGBEE_PLUG),
  zigbee: broker('zigbee2mqtt', 'hall', 'Zigbee2MQTT publishes its devices at a broker', ZIGBEE_PLUG),
  zwave: broker('zwave', 'hall', 'Z-Wave JS UI publishes its devices at a broker'),
  mqtt: broker('site', 'hall', 'a broker is asked by'),
  rtl433: {
    way: 'kinds',
    says: 'rtl_433 prints what it hears',
    kinds: [
      { kind: 'process', members: 'program: /usr/bin/rtl_433, arguments: [-F, json]' },
      {
        kind: 'command',
        members:
          "program: /usr/bin/rtl_433, arguments: [-F, json, -E, quit, -T, '50'], period: 1m, deadline: 55s, format: json",
      },
    ],
  },
  ble: broker('ble', 'hall', 'a gateway such as Theengs publishes at a broker'),
  bluetooth: broker('ble', 'hall', 'a gateway such as Theengs publishes at a broker'),
  ruuvi: broker('ruuvi', 'hall', 'a gateway for its advertisements publishes at a broker'),
  lora: broker('application', '1/device/2/event/up', 'a network server such as ChirpStack publishes at a broker'),
  lorawan: broker('application', '1/device/2/event/up', 'a network server such as ChirpStack publishes at a broker'),
  wmbus: broker('wmbusmeters', 'water', 'wmbusmeters reads it, and publishes at a broker'),
  can: program('/usr/local/bin/can-values', 'a program of your own decodes its frames'),
  canbus: program('/usr/local/bin/can-values', 'a program of your own decodes its frames'),
  snmp: {
    way: 'kinds',
    says: 'snmpget prints a value',
    kinds: [
      {
        kind: 'command',
        members:
          'program: /usr/bin/snmpget, arguments: [-v2c, -c, public, -Oqv, 192.168.1.50, 1.3.6.1.2.1.1.3.0], format: number',
      },
    ],
  },
  knx: program('/usr/local/bin/knx-values', 'a program of your own asks it'),
  bacnet: program('/usr/local/bin/bacnet-values', 'a program of your own asks it'),
  opcua: program('/usr/local/bin/opcua-values', 'a program of your own asks it'),
  ethercat: program('/usr/local/bin/ethercat-values', 'a program of your own asks it'),
  profinet: program('/usr/local/bin/profinet-values', 'a program of your own asks it'),
};

/** Words that mean the same, without what people put between letters and digits. */
function plainWord(word: string): string {
  return word.toLowerCase().replaceAll(/[^a-z0-9]/g, '');
}

/** Entry of a kind, in whatever spelling; undefined of one that nobody knows. */
export function otherKind(written: string): { readonly word: string; readonly kind: OtherKind } | undefined {
  const word = plainWord(written);
  const found = Object.hasOwn(OTHER_KINDS, word) ? OTHER_KINDS[word] : undefined;
  return found === undefined ? undefined : { word, kind: found };
}

export interface AskedKind {
  readonly written: string;
  /** Where it stands. */
  readonly list: 'sensors' | 'actuators';
  /** Kinds that there are in that list. */
  readonly known: readonly string[];
}

/** How its values come, with lines to paste; undefined where nobody knows, and where another spelling of a kind of this house is nearer. */
export function wayOf({ written, list, known }: AskedKind): string | undefined {
  const found = otherKind(written);
  if (found === undefined || known.includes(found.word)) return undefined;
  const { word, kind } = found;
  if (kind.way === 'kinds') {
    const { says, kinds, output } = kind;
    const found = kinds.find((one) => known.includes(one.kind));
    const way = list === 'actuators' ? output : found && { says, kind: found.kind, members: found.members };
    return way === undefined ? undefined : `${way.says}: - { name: ${word}, kind: ${way.kind}, ${way.members} }`;
  }
  if ('label' in kind) {
    const own = list === 'sensors' ? 'gpio-input' : 'gpio-output';
    const each =
      kind.way === 'gpio'
        ? `lines is - { name: ${word}, kind: ${own}, line: { chip: ${kind.label}, offset: 0 } }, with the chip’s label as turnstone scan gpio shows it`
        : `channels is an output - { name: ${word}, kind: pwm, chip: '${kind.label}', channel: 0, frequency: 200Hz }`;
    return `the kernel drives it: ${loadingText(kind.loading)}; then each of its ${each}`;
  }
  if (list === 'actuators') return undefined;
  const note = kind.note === undefined ? '' : ` (${kind.note})`;
  return `the kernel reads it: ${loadingText(kind.loading, kind.addresses?.[0])}; then - { name: ${word}, kind: ${kind.way}, chip: ${kind.driver} }${note}`;
}

/** Line that loads the driver of the chip that a section names, and where the chip may answer. */
export function loadingOf(
  chip: string,
  way: KernelChip['way'],
): { readonly text: string; readonly addresses: readonly number[] } | undefined {
  const chips = Object.values(OTHER_KINDS).filter((one): one is KernelChip => one.way === way);
  const found = chips.find((one) => one.driver === chip);
  if (found === undefined) {
    const known = otherKind(chip)?.kind;
    if (known?.way === way)
      return { text: `its driver calls it chip: ${known.driver}`, addresses: known.addresses ?? [] };
    const drivers = chips.map((one) => one.driver);
    const other = nearest(chip, drivers);
    return other === undefined ? undefined : { text: `did you mean chip: ${other}?`, addresses: [] };
  }
  return { text: loadingText(found.loading, found.addresses?.[0]), addresses: found.addresses ?? [] };
}

/** @param address that it has when nobody has changed it. */
function loadingText(loading: Loading, address = 0): string {
  if ('overlay' in loading) return `${loading.overlay} in config.txt of a Raspberry Pi, and a reboot`;
  if ('compatible' in loading)
    return `an overlay of your own with compatible = "${loading.compatible}", as no overlay of Raspberry Pi selects it`;
  return `at each boot modprobe ${loading.module}, and echo ${loading.i2cName} 0x${address.toString(16)} > /sys/bus/i2c/devices/i2c-1/new_device (the kernel needs that module)`;
}
