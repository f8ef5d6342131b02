/** The real ports of a Linux machine. Nothing is opened, and no native module loaded, before a sensor or actuator asks for it. */
import type { Clock } from '../host/clock.ts';
import { type GpioInterface, LinuxGpio } from './linux-gpio.ts';
import { LinuxI2c } from './linux-i2c.ts';
import { LinuxOneWire } from './linux-one-wire.ts';
import { LinuxPwm } from './linux-pwm.ts';
import { LinuxSerial } from './linux-serial.ts';
import { Modbus } from './modbus.ts';
import type { Ports } from './ports.ts';

export interface LinuxPortsDeps {
  readonly clock: Clock;
  /** Default `auto`. */
  readonly gpio?: GpioInterface;
}

export function linuxPorts(deps: LinuxPortsDeps): Ports {
  const { clock } = deps;
  const gpio = new LinuxGpio({ clock, ...(deps.gpio !== undefined && { interface: deps.gpio }) });
  const i2c = new LinuxI2c();
  const serial = new LinuxSerial({ clock });
  const oneWire = new LinuxOneWire();
  const pwm = new LinuxPwm({ clock });
  const modbus = new Modbus({ clock, serial });
  return {
    gpio,
    i2c,
    serial,
    oneWire,
    pwm,
    modbus,
    close: async () => {
      await modbus.close();
      await Promise.all([gpio.close(), i2c.close(), serial.close(), oneWire.close(), pwm.close()]);
    },
  };
}
