/** Signs of the registers of all models: what can be negative is read as a signed number, and what is read unsigned has a reason. */
import { expect, it } from 'vitest';
import { allModels } from '../../../src/config/models/find-models.ts';

/** Keys of numbers that some devices measure in two directions. */
const SIGNED = /power|current|temperature|cosPhi|phaseAngle/i;

/** Keys that are never negative, whatever the device. */
const NEVER_NEGATIVE: readonly (readonly [keys: RegExp, reason: string])[] = [
  [
    /^(grid)?current(L[123N]|Neutral|Total)$/i,
    'effective value of an alternating current; the power has the direction',
  ],
  [/^apparentPower/, 'product of two effective values'],
  [/^dc(Power|Current)(Total|\d+)$/, 'from solar panels alone'],
  [/^(loadPower|chargePower|chargeCurrentLimit|dcChargePower)/, 'taken by a load alone'],
  [/^(power(Import|Export)|batteryPower(Charge|Discharge))(L[123])?$/, 'one direction, with a key for each'],
];

const CHARGER = 'a charger of vehicles that delivers nothing back';
const CONSUMER = 'a heat pump or heating alone consumes';
/** Models whose other unsigned powers and currents are never negative. */
const ONE_DIRECTION: Readonly<Record<string, string>> = {
  'abb-terra-ac': CHARGER,
  'alpitronic-hyc-connector-1': CHARGER,
  'bender-cc612': CHARGER,
  'daheimladen-wallbox': CHARGER,
  'fox-ess-evc': CHARGER,
  'heidelberg-energy-control': CHARGER,
  'keba-p30': CHARGER,
  'mennekes-amtron-xtra': CHARGER,
  'peblar-home': CHARGER,
  'solax-evc': CHARGER,
  'sungrow-ac-charger': CHARGER,
  'vestel-evc04': CHARGER,
  'victron-evcs': CHARGER,
  'webasto-next': CHARGER,
  'glen-dimplex-wpm': CONSUMER,
  'luxtronik-2-1': CONSUMER,
  'solvis-max': CONSUMER,
  'epever-tracer': 'the charger beside a battery, whose load has a key of its own',
  'pzem-004t': 'its sheet gives power and power factor from 0 on',
  'pzem-017': 'its sheet gives the power from 0 on',
  'saj-r5': 'an inverter without a battery, unsigned in both public tables; 60 kW need all 16 bits',
  'solax-x3-mic': 'an inverter without a battery, unsigned in three public tables',
};

const { models } = await allModels('/nowhere/turnstone.yaml');
const unsigned = models.flatMap(({ name, registers }) =>
  Object.entries(registers)
    .filter(([key, { type = 'uint16' }]) => SIGNED.test(key) && !/energy/i.test(key) && String(type).startsWith('uint'))
    .map(([key]) => ({ name, key })),
);
const unexplained = unsigned.filter(({ key }) => !NEVER_NEGATIVE.some(([keys]) => keys.test(key)));

it('a power, current, temperature or power factor is signed unless it has a reason', () => {
  expect(unexplained.filter(({ name }) => ONE_DIRECTION[name] === undefined)).toEqual([]);
});

it('no temperature is unsigned: none reaches the half of its range', () => {
  expect(unsigned.filter(({ key }) => key.toLowerCase().includes('temperature'))).toEqual([]);
});

it('each reason has a register', () => {
  const named = new Set(unsigned.map(({ name }) => name));
  expect(Object.keys(ONE_DIRECTION).filter((name) => !named.has(name))).toEqual([]);
  for (const [keys] of NEVER_NEGATIVE)
    expect(
      unsigned.some(({ key }) => keys.test(key)),
      String(keys),
    ).toBe(true);
});
