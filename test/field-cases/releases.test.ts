/** What the answer to a release says, at each door: the state that the output has once what applies then has moved it. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { ActuatorState, ActuatorValue } from '../../src/actuators/kind/actuator.ts';
import { ownActuators } from '../../src/actuators/own-actuators.ts';
import { actuatorTarget } from '../../src/attributes/shared-target.ts';
import { OUTPUT_OPERATIONS } from '../../src/operations/output-operations.ts';
import { ActuatorBench, SlowActuator } from '../support/actuator-bench.ts';
import { relaySettings } from '../support/fake-actuator.ts';
import { outputDoor } from '../support/told-outputs.ts';

const never = new AbortController().signal;
const TAKES_MS = 700;
let bench: ActuatorBench;

beforeEach(() => {
  bench = new ActuatorBench();
});

/** An output that takes its time, as an operator has set it against what applies without them. */
async function held(start: ActuatorValue, by: ActuatorValue): Promise<void> {
  bench.drivers.heater = new SlowActuator(bench.clock, { takesMs: () => TAKES_MS });
  const valueType = typeof start === 'number' ? 'number' : 'boolean';
  const opening = bench.open(relaySettings('heater', { valueType, safe: { start } }));
  await bench.clock.advance(TAKES_MS);
  await opening;
  const setting = bench.set('heater', by);
  await bench.clock.advance(TAKES_MS);
  expect([await setting, bench.control.state('heater').value]).toEqual(['moved', by]);
}

/** Says what the answer was, and that none came before the output had moved. */
async function answerOf(release: () => unknown): Promise<unknown> {
  let answer: unknown = 'none yet';
  const answering = Promise.resolve(release()).then((one) => (answer = one));
  await bench.clock.advance(TAKES_MS - 1);
  expect(answer).toBe('none yet');
  await bench.clock.advance(1);
  await answering;
  return (answer as ActuatorState | undefined)?.value;
}

describe.each<[ActuatorValue, ActuatorValue]>([
  [true, false],
  [false, true],
  [40, 90],
])('a release of what goes to %s, from %s', (start, by) => {
  beforeEach(() => held(start, by));

  it('is answered over RPC with the state after it', async () => {
    const method = OUTPUT_OPERATIONS.releaseActuator?.(bench.control);
    expect(await answerOf(() => method?.run({ name: 'heater' }, { signal: never } as never))).toBe(start);
  });

  it('is answered to the command line with the state after it', async () => {
    const { ask } = outputDoor('site', bench.control);
    expect(await answerOf(() => ask('releaseActuator', { name: 'heater' }, never))).toBe(start);
  });

  it('is answered to the page with the state after it, which the timeline has too', async () => {
    const words: string[] = [];
    const { ask } = outputDoor('page', bench.control, (event) => void words.push(event.words));
    expect(await answerOf(() => ask('releaseActuator', { name: 'heater' }, never))).toBe(start);
    expect(words).toEqual([`Somebody on the page released heater: it is ${start === true ? 'on' : start || 'off'}.`]);
  });

  it('is answered to an attached device with the state after it', async () => {
    const { control } = ownActuators({ configs: [{ name: 'heater' } as never], control: bench.control });
    expect(await answerOf(() => control.release('heater'))).toBe(start);
  });

  it('is done with when a deleted attribute has moved it', async () => {
    const target = actuatorTarget('wish', 'heater', bench.control);
    await answerOf(() => target.clear(true));
    expect(bench.control.state('heater').value).toBe(start);
  });
});

it('a release is answered at once where nothing moves by it, and where what applies has to wait', async () => {
  await held(true, false);
  bench.locked = true;
  expect(await bench.control.release('heater')).toMatchObject({ value: false });
  expect(bench.control.find('heater')?.reason.why).toMatch(/^on, its state for the start; not yet: /);
  expect(await bench.control.release('heater')).toMatchObject({ value: false });
});

it('a second release waits for the movement of the first', async () => {
  await held(true, false);
  void bench.control.release('heater');
  expect(await answerOf(() => bench.control.release('heater'))).toBe(true);
});
