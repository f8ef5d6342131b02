/** Everything beneath the sensors and actuators, real or simulated, in one object. */
import type { GpioPort } from './gpio-port.ts';
import type { HttpPort } from './http-port.ts';
import type { I2cPort } from './i2c-port.ts';
import type { IioPort } from './iio-port.ts';
import type { KernelDevicePort } from './kernel-device-port.ts';
import type { ModbusPort } from './modbus-port.ts';
import type { MqttPort } from './mqtt-port.ts';
import type { OneWirePort } from './one-wire-port.ts';
import type { Programs } from './programs.ts';
import type { PwmPort } from './pwm-port.ts';
import type { SerialBuses } from './serial-buses.ts';
import type { SerialPorts } from './serial-port.ts';

export interface Ports {
  readonly gpio: GpioPort;
  readonly i2c: I2cPort;
  readonly serial: SerialPorts;
  /** The serial ports above, for users who take turns. */
  readonly serialBuses: SerialBuses;
  readonly oneWire: OneWirePort;
  readonly pwm: PwmPort;
  /** Chips that drivers of the kernel read, as Industrial I/O. */
  readonly iio: IioPort;
  /** The same, as hardware monitors. */
  readonly hwmon: KernelDevicePort;
  /** Over the serial ports above, and over TCP. */
  readonly modbus: ModbusPort;
  readonly http: HttpPort;
  /** Programs of the machine's own, with a simulated board too. */
  readonly programs: Programs;
  readonly mqtt: MqttPort;
  /** Closes every port; each closes what it opened. Idempotent. */
  close(): Promise<void>;
}
