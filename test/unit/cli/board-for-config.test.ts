/** The simulated board that a configuration gets: several devices that are asked share a port, as on a real line. */
import { beforeAll, expect, it } from 'vitest';
import { boardForConfig } from '../../../src/cli/board-for-config.ts';
import type { AgentConfig } from '../../../src/config/schema/agent-config.ts';
import { loadTwins } from '../../../src/kinds/twins.ts';
import type { Twins } from '../../../src/stand-ins/simulated-board/twin.ts';
import { sensorConfig } from '../../support/sensor-bench.ts';

const PORT = '/dev/ttyUSB0';
let twins: Twins;
beforeAll(async () => {
  twins = await loadTwins();
});

it.each([
  ['pylontech', 2, 3],
  ['mbus', 5, 6],
])('answers both devices of a line (%s)', (kind, first, second) => {
  const meter = (address: number) =>
    sensorConfig({ name: `meter${address}`, kind, port: PORT, address, prefix: `m${address}_` } as never);
  const answers = (...addresses: readonly number[]) => {
    const config = { sensors: addresses.map(meter), actuators: [], rpc: { lockout: {} } };
    const [port] = boardForConfig(config as unknown as AgentConfig, twins).serial ?? [];
    return port?.talk.kind === 'answers' ? Object.keys(port.talk.answers) : [];
  };
  expect(answers(first).length).toBeGreaterThan(0);
  expect(answers(first, second).toSorted()).toEqual([...answers(first), ...answers(second)].toSorted());
});
