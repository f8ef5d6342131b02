/**
 * What reaches the installed service by others than its own drivers: chips that the kernel reads, an expander, a program on a CAN bus, and an
 * MQTT broker on this machine with a plug behind it. Two of them need a drop-in of the service.
 */

import { LinuxMqtt } from '../../src/hardware/linux-mqtt.ts';
import type { MqttConnection } from '../../src/hardware/mqtt-port.ts';
import { systemClock } from '../../src/host/clock.ts';
import { Mosquitto } from '../support/mosquitto.ts';
import { setWord } from './chips.ts';
import { type Guest, HOST_FROM_GUEST } from './guest.ts';
import { until } from './platform-view.ts';

const EXPANDER_OFFSET = 5;
const EXPANDER_VALUE = `/run/expander/sim_gpio${EXPANDER_OFFSET}/value`;
const WITHIN_MS = 60_000;
const DROP_INS = '/etc/systemd/system/turnstone.service.d';
/** Where the installed drop-ins are while the service is to have none. */
const AWAY = '/root/drop-ins';
const CAN_PROGRAM = '/usr/local/bin/lab-can';

/** Raw values of iio_simple_dummy.c for its acceleration: `accel_val` of a single read, and `fakedata` of a buffer. */
export const DUMMY = { polled: 34, buffered: 344 } as const;
/** Texas Instruments LM75B data sheet SNIS153D, 7.3: the upper nine bits are half degrees, the high byte first. */
export const LM75 = { address: 0x48, temperatureRegister: 0x00, word: 51 << 7, celsius: 25.5 } as const;
/** INA219 data sheet SBOS448G, 8.6.3.2: bits 15 to 3 of the bus voltage are 4 mV each. */
export const INA219 = { address: 0x40, busVoltageRegister: 0x02, word: 3_000 << 3, volts: 12 } as const;

/** Perl is on every Debian. AF_CAN is 29, CAN_RAW 1; a frame is id, length and eight bytes (linux/can.h). */
const CAN_LISTENER = `#!/usr/bin/perl
use strict;
$| = 1;
socket(my $can, 29, 3, 1) or die "CAN socket: $!\\n";
open(my $file, '<', '/sys/class/net/vcan0/ifindex') or die "vcan0: $!\\n";
bind($can, pack('S x2 i x16', 29, scalar <$file>)) or die "vcan0: $!\\n";
if (@ARGV) { syswrite($can, pack('L C x3 n x6', 0x123, 2, $ARGV[0])) or die "vcan0: $!\\n"; exit; }
while (sysread($can, my $frame, 16) == 16) {
  my ($id, $length, $rpm) = unpack('L C x3 n', $frame);
  print "{\\"motorRpm\\": $rpm}\\n" if $id == 0x123;
}
`;

const COMMANDS = 'lab/plug/set';
const PLUG_STATE = 'lab/plug';

export class KernelDrivers {
  /** Commands that the plug got, in their order. */
  readonly plugged: string[] = [];
  readonly #guest: () => Guest;
  readonly #broker: Mosquitto;
  readonly #port = new LinuxMqtt({ clock: systemClock });

  private constructor(guest: () => Guest, broker: Mosquitto) {
    this.#guest = guest;
    this.#broker = broker;
  }

  static async open(guest: () => Guest): Promise<KernelDrivers> {
    const broker = await Mosquitto.open();
    await broker.start();
    await setWord(guest(), LM75.address, LM75.temperatureRegister, LM75.word);
    await setWord(guest(), INA219.address, INA219.busVoltageRegister, INA219.word);
    await guest().run(`/lab/test/lab/guest/kernel-drivers
      cat >${CAN_PROGRAM} <<'END'\n${CAN_LISTENER}END
      chmod 755 ${CAN_PROGRAM}`);
    const drivers = new KernelDrivers(guest, broker);
    await drivers.#plugIn();
    return drivers;
  }

  /** Sections beside those of the service's own drivers. */
  get sensors(): string {
    return `
  - { name: tilt, kind: iio, chip: lab-polled, period: 2s, channels: { accel_x: tilt } }
  - name: shaking
    kind: iio
    chip: lab-buffered
    period: 2s
    channels: { accel_x: shaking }
    buffer: { trigger: lab-trigger, length: 64, frequency: 10Hz }
  - { name: hall, kind: hwmon, chip: lm75, period: 2s, channels: { temp1: hallTemperature } }
  - { name: battery, kind: hwmon, chip: ina219, period: 2s, channels: { in1: batteryVoltage } }
  - { name: motor, kind: process, program: ${CAN_PROGRAM}, period: 2s, maxSilence: 0s, format: json }
  - { name: kitchen, kind: mqtt, broker: house, topic: lab/kitchen, period: 10s, format: json }`;
  }

  get actuators(): string {
    return `
  - { name: fan, kind: gpio-output, line: { chip: lab-expander, offset: ${EXPANDER_OFFSET} }, safe: { stop: off, crash: off } }
  - name: plug
    kind: mqtt
    broker: house
    topic: ${COMMANDS}
    send: { on: "ON", off: "OFF" }
    stateTopic: ${PLUG_STATE}
    statePath: state
    deadline: 10s
    safe: { stop: off, crash: off }`;
  }

  get brokers(): string {
    return `brokers: [{ name: house, url: "mqtt://${HOST_FROM_GUEST}:${this.#broker.port}" }]`;
  }

  async expanderVoltage(): Promise<number> {
    return Number(await this.#guest().run(`cat ${EXPANDER_VALUE}`));
  }

  async sendFrame(rpm: number): Promise<void> {
    await this.#guest().run(`${CAN_PROGRAM} ${rpm}`);
  }

  async publish(payload: string): Promise<void> {
    const connection = await this.#connect();
    try {
      // Who subscribes later gets it, too.
      await connection.publish({ topic: 'lab/kitchen', payload, retain: true }, AbortSignal.timeout(WITHIN_MS));
    } finally {
      await connection.close();
    }
  }

  async close(): Promise<void> {
    await this.#port.close();
    await this.#broker.remove();
  }

  /** A plug does what it is told, and says what it is by then. */
  async #plugIn(): Promise<void> {
    const connection = await this.#connect();
    connection.subscribe(COMMANDS, async ({ payload }) => {
      const state = Buffer.from(payload).toString();
      this.plugged.push(state);
      const message = { topic: PLUG_STATE, payload: JSON.stringify({ state }), retain: true };
      await connection.publish(message, AbortSignal.timeout(WITHIN_MS));
    });
  }

  async #connect(): Promise<MqttConnection> {
    const settings = {
      name: 'house',
      url: this.#broker.url,
      version: '5',
      keepAliveMs: 30_000,
      maxPacketBytes: 65_536,
    } as const;
    const connection = await this.#port.open(settings, AbortSignal.timeout(WITHIN_MS));
    await until('a connection to the broker', async () => (connection.outage === undefined ? true : undefined));
    return connection;
  }
}

/** Takes the drop-ins that were installed out of the service's way, until `putDropInsBack`. */
export async function takeDropInsAway(guest: Guest): Promise<void> {
  await guest.run(`mv ${DROP_INS} ${AWAY}; systemctl daemon-reload`);
}

export async function putDropInsBack(guest: Guest): Promise<void> {
  await guest.run(`mkdir -p ${DROP_INS}; mv ${AWAY}/* ${DROP_INS}/; rmdir ${AWAY}; systemctl daemon-reload`);
}
