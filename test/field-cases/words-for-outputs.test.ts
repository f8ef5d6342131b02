/** Values, units and names of outputs in the words that papers and page have for them. */
import { expect, it } from 'vitest';
import { ownActuators } from '../../src/actuators/own-actuators.ts';
import { outputText, valueText } from '../../src/cli/value-text.ts';
import { ActuatorBench } from '../support/actuator-bench.ts';
import { relaySettings } from '../support/fake-actuator.ts';
import { holdingGateway } from '../support/holding-gateway.ts';

it('an output is on, off, a number, a text or unknown', () => {
  expect([true, false, 40, 'open', null].map((value) => outputText(value))).toEqual([
    'on',
    'off',
    '40',
    'open',
    'unknown',
  ]);
});

it.each([
  [true, 'on'],
  [false, 'off'],
  [40, '40'],
] as const)('a write of %s without an answer, and a value that is not shown, are told as %s', async (value, word) => {
  const bench = new ActuatorBench();
  const other = typeof value === 'number' ? 7 : !value;
  const gateway = holdingGateway(bench.clock, other);
  bench.drivers.out = gateway;
  const control = await bench.open(
    relaySettings('out', { valueType: typeof value === 'number' ? 'number' : 'boolean' }),
  );
  gateway.holdMs = 3_600_000;
  const never = new AbortController().signal;
  await expect(control.set('out', value, { by: 'local' }, never)).rejects.toThrow(`whether out takes ${word}, now`);
  expect(control.find('out')?.reason.why).toContain(`a write of ${word} had no answer`);
  await bench.clock.advance(23_000);
  const fault = `shows ${outputText(other)}, was set to ${word} without an answer`;
  // Off is written again by itself.
  expect(control.state('out').fault).toBe(value === false ? undefined : fault);
});

it('bytes have the symbol that people read, and other units their own', () => {
  expect([valueText(1_024, 'By'), valueText(7, '°C'), valueText(true)]).toEqual(['1024 B', '7 °C', 'true']);
});

it('a name that no output has is refused with the one that was meant, where one is near', async () => {
  const bench = new ActuatorBench();
  const control = await bench.open(relaySettings('heater'), relaySettings('pump2'));
  const never = new AbortController().signal;
  const wrong = 'there is no actuator heatre; did you mean "heater"?';
  await expect(control.set('heatre', true, { by: 'local' }, never)).rejects.toThrow(wrong);
  await expect(control.release('heatre')).rejects.toThrow(wrong);
  expect(() => control.state('Pump2')).toThrow('there is no actuator Pump2; did you mean "pump2"?');
  expect(() => control.state('window')).toThrow(/^there is no actuator window$/);
  expect(() => control.state('w'.repeat(10_000))).toThrow(/^there is no actuator w{64}$/);
});

it('a name of another device’s output is not proposed', async () => {
  const bench = new ActuatorBench();
  const control = await bench.open(relaySettings('heater'), relaySettings('pump'));
  const own = ownActuators({ configs: [{ name: 'pump', device: 'meter' } as never], control }, 'meter');
  expect(() => own.control.state('heatre')).toThrow(/^there is no actuator heatre$/);
  expect(() => own.control.state('pomp')).toThrow('there is no actuator pomp; did you mean "pump"?');
});
