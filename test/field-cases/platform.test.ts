/** Attributes as people save them at a platform. */
import { expect, it } from 'vitest';
import { expectValueFor, valueFor } from '../../src/actuators/kind/actuator-value.ts';

const VALVE = { name: 'valve', valueType: 'number' } as const;
const PUMP = { name: 'pump', valueType: 'boolean' } as const;

it.each([
  [PUMP, { value: true }, true],
  [PUMP, { value: 'off' }, false],
  [PUMP, { value: 0 }, false],
  [VALVE, { value: '42.5' }, 42.5],
  [{ name: 'text', valueType: 'string' } as const, { value: 'hello' }, 'hello'],
])('an attribute of JSON that wraps a value is taken as the value: %j %j', (settings, saved, value) => {
  expect(valueFor(settings, saved)).toBe(value);
});

it.each([
  [PUMP, { value: { value: true } }],
  [PUMP, { value: true, for: '2h' }],
  [PUMP, { enabled: true }],
  [VALVE, { value: null }],
  [VALVE, [42]],
])('what wraps anything else is refused, with what would be taken: %j %j', (settings, saved) => {
  expect(() => expectValueFor(settings, saved)).toThrow('bare or as {"value": ');
});
