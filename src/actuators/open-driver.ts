/** Chooses the driver for an actuator's kind. An actuator whose hardware is not there yet is opened again at each movement. */
import type { ActuatorConfig } from '../config/agent-config.ts';
import { AgentError } from '../errors.ts';
import type { Ports } from '../hardware/ports.ts';
import type { Clock } from '../host/clock.ts';
import type { ActuatorDriver, ActuatorValue } from './actuator.ts';
import { openCommand } from './command.ts';
import { openGpioOutput } from './gpio-output.ts';
import { openModbusWrite } from './modbus-write.ts';
import { openPwm } from './pwm.ts';
import { openSerialWrite } from './serial-write.ts';

export interface OpenDriverDeps {
  readonly ports: Ports;
  readonly clock: Clock;
}

/** @throws AgentError `hardware/…` as the port does. */
export async function openDriver(config: ActuatorConfig, deps: OpenDriverDeps, signal: AbortSignal): Promise<ActuatorDriver> {
  const { ports, clock } = deps;
  switch (config.kind) {
    case 'gpio-output':
      return await openGpioOutput(config, ports.gpio, signal);
    case 'pwm':
      return await openPwm(config, ports.pwm, signal);
    case 'serial-write':
      return await openSerialWrite(config, { serial: ports.serial, clock }, signal);
    case 'command':
      return openCommand(config, clock);
    case 'modbus-write':
      return await openModbusWrite(config, ports.modbus, signal);
  }
}

/** A driver that opens its hardware at the first use, and again after a use that failed to. */
export function reopeningDriver(config: ActuatorConfig, deps: OpenDriverDeps): ActuatorDriver {
  let opening: Promise<ActuatorDriver> | undefined;
  let closed = false;
  const opened = (signal: AbortSignal): Promise<ActuatorDriver> => {
    opening ??= openDriver(config, deps, signal).catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    return opening;
  };
  return {
    write: async (value, signal) => (await opened(signal)).write(value, signal),
    ...(isReadable(config) ? { read: async (signal: AbortSignal) => await readFrom(await opened(signal), signal) } : {}),
    close: async () => {
      if (closed) return;
      closed = true;
      await (await opening?.catch(() => undefined))?.close();
    },
  };
}

function isReadable(config: ActuatorConfig): boolean {
  if (config.kind === 'modbus-write' || config.kind === 'command') return config.readBack !== undefined && config.readBack !== false;
  return config.kind === 'gpio-output' || config.kind === 'pwm';
}

async function readFrom(driver: ActuatorDriver, signal: AbortSignal): Promise<ActuatorValue> {
  if (driver.read === undefined) throw new AgentError('actuators/unreadable', 'the hardware cannot be asked', { recovery: 'drop' });
  return await driver.read(signal);
}
