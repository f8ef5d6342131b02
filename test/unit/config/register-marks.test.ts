/** Marks of no value in the registers of all models: each is one that its type can hold, and a maker that marks none does so in every register. */
import { expect, it } from 'vitest';
import { allModels } from '../../../src/config/models/find-models.ts';
import { decodeModbus } from '../../../src/hardware/modbus-values.ts';
import { type RegisterMeaning, registerValue } from '../../../src/sensors/families/registers/register-value.ts';

type Register = Readonly<Record<string, unknown>>;
type Whole = 'int16' | 'uint16' | 'int32' | 'uint32' | 'int64' | 'uint64';

/** Registers, in hex, by which the devices of a family say that there is no value; a type without one has none that is known. */
const MARKS: Readonly<Record<string, Readonly<Partial<Record<Whole, string>>>>> = {
  abb: { int16: '7FFF', int32: '7FFFFFFF', uint16: 'FFFF', uint32: 'FFFFFFFF', uint64: 'FFFFFFFFFFFFFFFF' },
  bender: { uint32: 'FFFFFFFF' },
  eletechsup: { int16: '8000' },
  goodwe: { uint16: 'FFFF', uint32: 'FFFFFFFF' },
  huawei: { int16: '7FFF', int32: '7FFFFFFF', uint16: 'FFFF', uint32: 'FFFFFFFF', uint64: 'FFFFFFFFFFFFFFFF' },
  sma: { int32: '80000000', uint32: 'FFFFFFFF', uint64: 'FFFFFFFFFFFFFFFF' },
  'stiebel-eltron': { int16: '8000' },
};

const { models } = await allModels('/nowhere/turnstone.yaml');
const registers = models.flatMap(({ name, file, registers: of }) =>
  Object.entries(of).map(([key, register]) => ({ name, family: file.name, key, register })),
);

/** Number that a register with this content gives. */
function numberIn(key: string, register: Register, hex: string) {
  const type = (register.type ?? 'uint16') as Whole;
  const words = (hex.match(/.{4}/g) ?? []).map((word) => Number.parseInt(word, 16));
  const raw = decodeModbus(words, { type, wordOrder: 'big', byteOrder: 'big' });
  const { noValue, nulls = [], scale = 1 } = register as RegisterMeaning;
  return registerValue(
    key,
    raw,
    { noValue, nulls, scale },
    { bits: 16 * words.length, isSigned: type.startsWith('int') },
  );
}

it.each(Object.entries(MARKS))(
  'each register of %s takes the mark of none for none, and 1 for a value',
  (of, marks) => {
    const marked = registers.filter(({ family, register }) => family === of && marks[typeOf(register)] !== undefined);
    expect(marked.length).toBeGreaterThan(0);
    for (const { name, key, register } of marked) {
      const mark = marks[typeOf(register)] ?? '';
      expect(() => numberIn(key, register, mark), `${name} ${key}`).toThrow(`there is no ${key}`);
      expect(Number(numberIn(key, register, '1'.padStart(mark.length, '0'))), `${name} ${key}`).not.toBeNaN();
    }
  },
);

it('a mark of none is a number that its type can hold', () => {
  const marked = registers.filter(({ register }) => typeof register.noValue === 'number');
  expect(marked.length).toBeGreaterThanOrEqual(150);
  for (const { name, key, register } of marked) {
    const bits = Number(typeOf(register).replace(/\D+/, ''));
    const mark = BigInt(Number(register.noValue));
    expect([BigInt.asIntN(bits, mark), BigInt.asUintN(bits, mark)], `${name} ${key}`).toContain(mark);
  }
});

it('a GoodWe temperature has two marks of none, and is read below zero', () => {
  const found = models.find(({ name }) => name === 'goodwe-et')?.registers ?? {};
  for (const key of ['temperature', 'batteryTemperature']) {
    for (const mark of ['7FFF', 'FFFF']) expect(() => numberIn(key, found[key] ?? {}, mark)).toThrow('no value');
    expect(Number(numberIn(key, found[key] ?? {}, 'FFCE'))).toBeCloseTo(-5);
  }
});

function typeOf(register: Register): Whole {
  return (register.type ?? 'uint16') as Whole;
}
