/** Three devices behind the demo's gateway, each with a sensor and a token of its own. Keys begin with their device's name, so that a stray one is seen. */
import { join } from 'node:path';
import type { BoardConfigInput } from '../../src/stand-ins/simulated-board/board-config.ts';

export interface DemoDevice {
  /** Slot of the configuration. */
  readonly name: string;
  /** On the platform. */
  readonly deviceName: string;
  readonly accessToken: string;
}

export const DEMO_DEVICES: readonly DemoDevice[] = ['heatPump', 'boiler', 'coldRoom'].map((name) => ({
  name,
  deviceName: `demo-gateway ${name}`,
  accessToken: `demo-${name}-token`,
}));

const BASES: Readonly<Record<string, number>> = { heatPump: 35, boiler: 62, coldRoom: 4 };

/** Ports at which they speak. */
export function devicePorts(folder: string, devices: readonly DemoDevice[]): NonNullable<BoardConfigInput['serial']> {
  return devices.map(({ name }) => ({
    port: portOf(folder, name),
    pty: true,
    talk: {
      kind: 'lines',
      format: 'json',
      periodMs: 1_000,
      values: {
        [`${name}Temperature`]: { signal: { kind: 'room', base: BASES[name] ?? 20, drift: 1, noise: 0.1 }, digits: 1 },
      },
    },
  }));
}

/** Lines of the agent's configuration; none without devices. */
export function deviceLines(
  folder: string,
  devices: readonly DemoDevice[],
): { readonly devices: string; readonly sensors: string } {
  const slots = devices.map(
    ({ name, deviceName, accessToken }) =>
      `  - { name: ${name}, deviceName: "${deviceName}", accessToken: ${accessToken} }\n`,
  );
  const sensors = devices.map(
    ({ name }) =>
      `  - { name: ${name}, device: ${name}, kind: serial-line, port: ${portOf(folder, name)}, format: json, period: 5s }\n`,
  );
  return { devices: slots.length === 0 ? '' : `devices:\n${slots.join('')}`, sensors: sensors.join('') };
}

/** A key as it is judged: at a device whose it is not it has another name, which nobody appended. */
export function judgedKey(at: string, key: string, devices: readonly DemoDevice[], gateway: string): string {
  const owner = devices.find(({ name }) => key.startsWith(name))?.deviceName ?? gateway;
  return owner === at ? key : `${at}/${key}`;
}

function portOf(folder: string, name: string): string {
  return join(folder, `tty${name}`);
}
