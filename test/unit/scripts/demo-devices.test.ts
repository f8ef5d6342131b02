/** Devices of the demo: what the board says, what the agent is told, and what is judged of a key at the wrong device. */
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { DEMO_DEVICES, deviceLines, devicePorts, judgedKey } from '../../../scripts/demo/attached-devices.ts';
import { parseBoardConfig } from '../../../src/stand-ins/simulated-board/board-config.ts';

const GATEWAY = 'demo-gateway';

it('speak at ports of their own, which sensors of their own read', () => {
  const { serial } = parseBoardConfig({ version: 1, serial: devicePorts('/demo', DEMO_DEVICES) });
  const { devices, sensors } = deviceLines('/demo', DEMO_DEVICES);
  const config = parse(`${devices}sensors:\n${sensors}`) as Record<
    string,
    { name: string; device?: string; port?: string }[]
  >;
  expect(config.devices?.map(({ name }) => name)).toEqual(['heatPump', 'boiler', 'coldRoom']);
  expect(config.sensors?.map(({ device }) => device)).toEqual(config.devices?.map(({ name }) => name));
  expect(config.sensors?.map(({ port }) => port)).toEqual(serial.map(({ port }) => port));
});

it('are not told of where there are none', () => {
  expect([deviceLines('/demo', []), devicePorts('/demo', [])]).toEqual([{ devices: '', sensors: '' }, []]);
});

it('have keys of their own, and whatever has strayed is under a name that nobody appended', () => {
  const judged = (at: string, key: string): string => judgedKey(at, key, DEMO_DEVICES, GATEWAY);
  expect(judged('demo-gateway boiler', 'boilerTemperature')).toBe('boilerTemperature');
  expect(judged('demo-gateway boiler', 'heatPumpTemperature')).toBe('demo-gateway boiler/heatPumpTemperature');
  expect(judged(GATEWAY, 'boiler_state')).toBe('demo-gateway/boiler_state');
  expect(judged(GATEWAY, 'roomTemperature')).toBe('roomTemperature');
  expect(judged('demo-gateway boiler', 'roomTemperature')).toBe('demo-gateway boiler/roomTemperature');
});
