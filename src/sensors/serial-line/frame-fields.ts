/** Values in a frame of bytes: numbers at their places, with the meaning that a register has. */
import { FIELD_BYTES, type FrameField } from '../../config/fields/frames.ts';
import { decodeModbus } from '../../hardware/modbus-values.ts';
import { registerValue } from '../families/registers/register-value.ts';
import { type Outcome, outcomeOf } from '../kind/outcome.ts';
import { sensorFault } from '../kind/sensor-fault.ts';

/** Values of the fields that the frame holds; `data` is the frame up to its check sum. */
export function frameValues(data: Buffer, fields: Readonly<Record<string, FrameField>>): readonly Outcome[] {
  const held = Object.entries(fields).filter(([, { counted }]) =>
    counted === undefined ? true : (data[counted.at] ?? 0) >= counted.least,
  );
  return held.map(([key, field]) =>
    outcomeOf(key, () => {
      const isFloat = field.type === 'float32' || field.type === 'float64';
      const width = { isSigned: field.type.startsWith('int'), ...(!isFloat && { bits: 8 * FIELD_BYTES[field.type] }) };
      const value = registerValue(key, rawOf(key, data, field), field, width);
      return { key, value, ...(field.unit !== undefined && { unit: field.unit }) };
    }),
  );
}

/** @throws AgentError `sensors/bad-reading` (retry) for a field that reaches past the data. */
function rawOf(key: string, frame: Buffer, { at, type, order }: FrameField): number | bigint | boolean | string {
  const end = at + FIELD_BYTES[type];
  if (end > frame.length)
    throw sensorFault('bad-reading', `${key} is behind the ${frame.length} bytes of data in the frame`);
  if (type === 'uint8') return frame.readUInt8(at);
  if (type === 'int8') return frame.readInt8(at);
  const words = Array.from({ length: FIELD_BYTES[type] / 2 }, (_, word) => frame.readUInt16BE(at + 2 * word));
  return decodeModbus(words, { type, wordOrder: order, byteOrder: order });
}
