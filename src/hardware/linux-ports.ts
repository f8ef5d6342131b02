/** The real ports of a Linux machine. Nothing is opened, and no native module loaded, before a sensor or actuator asks for it. */
import type { Clock } from '../host/clock.ts';
import { type GpioInterface, LinuxGpio } from './linux-gpio.ts';
import { LinuxHttp } from './linux-http.ts';
import { LinuxI2c } from './linux-i2c.ts';
import { LinuxIio } from './linux-iio.ts';
import { hwmonClass, LinuxKernelDevices } from './linux-kernel-devices.ts';
import { LinuxMqtt } from './linux-mqtt.ts';
import { linuxOneWire } from './linux-one-wire.ts';
import { LinuxPwm } from './linux-pwm.ts';
import { LinuxSerial } from './linux-serial.ts';
import { Modbus } from './modbus.ts';
import type { Ports } from './ports.ts';
import { Programs } from './programs.ts';
import { SerialBuses } from './serial-buses.ts';

export function linuxPorts(clock: Clock, through: GpioInterface): Ports {
  const serial = new LinuxSerial({ clock });
  const gpio = new LinuxGpio({ clock, interface: through });
  const ports = {
    gpio,
    i2c: new LinuxI2c(),
    serial,
    oneWire: linuxOneWire(),
    pwm: new LinuxPwm({ clock }),
    iio: new LinuxIio(),
    hwmon: new LinuxKernelDevices(hwmonClass()),
    http: new LinuxHttp(),
    programs: new Programs(clock),
    mqtt: new LinuxMqtt({ clock }),
  };
  const modbus = new Modbus({ clock, serial });
  const close = async (): Promise<void> => {
    await modbus.close();
    await Promise.all(Object.values(ports).map((port) => port.close()));
  };
  return { ...ports, serialBuses: new SerialBuses(serial, clock), modbus, close };
}
