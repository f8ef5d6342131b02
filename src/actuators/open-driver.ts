/** Chooses the driver for an actuator's kind. An actuator whose hardware is not there yet is opened again at each movement. */

import type { ActuatorConfig } from '../config/agent-config.ts';
import { AgentError } from '../errors.ts';
import { withinDeadline } from '../hardware/deadline.ts';
import type { Ports } from '../hardware/ports.ts';
import type { HostMachine } from '../host/machine.ts';
import { endedWithin } from '../host/within-ms.ts';
import type { ActuatorDriver, ActuatorValue } from './actuator.ts';
import { openCommand } from './command.ts';
import { openGpioOutput } from './gpio-output.ts';
import { openModbusWrite } from './modbus-write.ts';
import { OwedAnswers } from './owed-answers.ts';
import { openPwm } from './pwm.ts';
import { openSerialWrite } from './serial-write.ts';

export interface OpenDriverDeps extends Pick<HostMachine, 'clock' | 'runProgram'> {
  readonly ports: Ports;
  /** What was told before the driver was opened; default: nothing. */
  readonly owed?: OwedAnswers;
}

/** @throws AgentError `hardware/…` as the port does. */
export async function openDriver(config: ActuatorConfig, deps: OpenDriverDeps, signal: AbortSignal): Promise<ActuatorDriver> {
  const { ports, clock, owed = new OwedAnswers(clock) } = deps;
  switch (config.kind) {
    case 'gpio-output':
      return await openGpioOutput(config, ports.gpio, signal);
    case 'pwm':
      return await openPwm(config, ports.pwm, signal);
    case 'serial-write':
      return await openSerialWrite(config, { serial: ports.serial, clock, owed }, signal);
    case 'command':
      return openCommand(config, deps);
    case 'modbus-write':
      return await openModbusWrite(config, ports.modbus, signal);
  }
}

/**
 * Letting go of a line may let it fall, so one fault is no reason to; hardware that was pulled out and is back only answers when it is
 * opened anew.
 */
const FAULTS_BEFORE_REOPENING = 3;
const LETTING_GO_MS = 500;

/** A driver that opens its hardware at the first use, again after a use that failed to, and anew when it fails again and again. */
export function reopeningDriver(
  config: ActuatorConfig,
  deps: OpenDriverDeps,
  open: (signal: AbortSignal) => Promise<ActuatorDriver> = opener(config, deps),
): ActuatorDriver {
  let opening: Promise<ActuatorDriver> | undefined;
  let faults = 0;
  let closed = false;
  const letGo = async (): Promise<void> => {
    const driver = await opening?.catch(() => undefined);
    opening = undefined;
    await driver?.close();
  };
  const use = async <T>(work: (driver: ActuatorDriver) => Promise<T>, signal: AbortSignal): Promise<T> => {
    opening ??= open(signal).catch((error: unknown) => {
      opening = undefined;
      throw error;
    });
    // An opening that hangs is waited for by each try anew; none of them may stay with it.
    const driver = await withinDeadline(opening, `opening what ${config.name} is on`, signal);
    try {
      const result = await work(driver);
      faults = 0;
      return result;
    } catch (error) {
      faults += 1;
      if (faults >= FAULTS_BEFORE_REOPENING) {
        faults = 0;
        // Closing hardware that hangs may take as long as the hang.
        await endedWithin(deps.clock, LETTING_GO_MS, letGo());
      }
      throw error;
    }
  };
  return {
    write: (value, signal) => use((driver) => driver.write(value, signal), signal),
    ...(isReadable(config) ? { read: (signal: AbortSignal) => use((driver) => readFrom(driver, signal), signal) } : {}),
    close: async () => {
      if (closed) return;
      closed = true;
      await letGo();
    },
  };
}

function opener(config: ActuatorConfig, deps: OpenDriverDeps): (signal: AbortSignal) => Promise<ActuatorDriver> {
  const kept = { ...deps, owed: new OwedAnswers(deps.clock) };
  return (signal) => openDriver(config, kept, signal);
}

function isReadable(config: ActuatorConfig): boolean {
  if (config.kind === 'modbus-write' || config.kind === 'command') return config.readBack !== undefined && config.readBack !== false;
  return config.kind === 'gpio-output' || config.kind === 'pwm';
}

async function readFrom(driver: ActuatorDriver, signal: AbortSignal): Promise<ActuatorValue> {
  if (driver.read === undefined) throw new AgentError('actuators/unreadable', 'the hardware cannot be asked', { recovery: 'drop' });
  return await driver.read(signal);
}
