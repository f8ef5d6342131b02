/** The platform's RPC widgets against the whole agent: every row of WIDGETS.md, by the request that the widget sends. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { JsonValue } from '../../src/values/json.ts';
import { RemoteBench } from '../support/remote-bench.ts';

const PAGE = readFileSync(join(import.meta.dirname, '../../src/rpc/WIDGETS.md'), 'utf8');
const ROWS = PAGE.split('\n')
  .filter((line) => /\| (one|two)-way \|/.test(line))
  .map(
    (line) =>
      line.slice(2, -2).split(' | ') as [widget: string, method: string, params: string, call: string, reply: string],
  )
  .map(([widget, method, params, call, reply]) => ({
    widget,
    call,
    method: bare(method),
    params: bare(params),
    reply: bare(reply),
  }));

function bare(cell: string): string {
  return cell.replace(/^`(.*)`$/, '$1');
}

let bench: RemoteBench;

beforeAll(async () => {
  bench = await RemoteBench.open();
  await bench.startWholeAgent({
    sensors: [{ name: 'host', kind: 'host', period: '500ms' }],
    actuators: [
      { name: 'lamp', kind: 'gpio-output', line: 'GPIO17' },
      { name: 'far', kind: 'gpio-output', line: 'GPIO18', enabled: false },
    ],
    rpc: {
      methods: {
        setLamp: { actuator: 'lamp' },
        getFar: { actuator: 'far', read: true },
        setFar: { actuator: 'far' },
        fails: { command: { program: '/bin/false', idempotent: true } },
        getUptime: { sensor: 'host', key: 'uptimeS' },
        answer: { command: { program: '/bin/echo', arguments: ['[1, {"a": null}]'], idempotent: true, json: true } },
        nonsense: { command: { program: '/bin/echo', arguments: ['no JSON'], idempotent: true, json: true } },
        getGpioStatus: { pins: { 7: 'lamp' }, read: true },
        setGpioStatus: { pins: { 7: 'lamp' } },
      },
    },
  });
}, 120_000);
afterAll(() => bench?.close());

const ask = async (method: string, params: JsonValue, way: 'oneway' | 'twoway' = 'twoway') =>
  await bench.rpc(method, params, 10_000, way);

describe('a widget', () => {
  it('has a row each', () => expect(ROWS.length).toBeGreaterThanOrEqual(9));

  it.each(ROWS)('gets what it expects: $widget', async ({ call, method, params, reply }) => {
    await ask('setLamp', !method.startsWith('set'));
    const { status, reply: given } = await ask(
      method,
      JSON.parse(params) as JsonValue,
      call === 'one-way' ? 'oneway' : 'twoway',
    );
    expect(status).toBe(200);
    if (call === 'two-way') expect(given).toEqual(JSON.parse(reply));
    // The switch is on now.
    await expect.poll(async () => (await ask('getValue', null)).reply).toBe(true);
  });

  it.each([['off'], [false], [0], ['false']])('may send off as %j', async (off) => {
    await ask('setLamp', true);
    await ask('setValue', off);
    expect((await ask('getValue', null)).reply).toBe(false);
  });

  it('gets a sensor’s value and a program’s JSON alone', async () => {
    expect((await ask('getUptime', null)).reply).toEqual(expect.any(Number));
    expect((await ask('answer', null)).reply).toEqual([1, { a: null }]);
  });

  it('is told of a failure by a call that fails, and by no state', async () => {
    for (const method of ['getFar', 'nonsense']) expect((await ask(method, null)).status).toBe(406);
    expect((await ask('setGpioStatus', { pin: 8, enabled: true })).status).toBe(406);
    // One that sets fails alike: a wrong value, an output that is switched off in the configuration, a program that ends with a fault.
    expect((await ask('setLamp', { enabled: true })).status).toBe(406);
    expect((await ask('setFar', true)).status).toBe(406);
    expect((await ask('fails', null)).status).toBe(406);
  });
});
