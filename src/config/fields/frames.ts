/** Frames of bytes on serial lines: where they begin and end, which numbers are in them, and how damage is seen. */
import { z } from 'zod';
import type { ConfigPath } from './config-fault.ts';
import { bitFaults } from './conversion.ts';
import { duration, section, whole } from './fields.ts';
import { type Finding, finding, noEffect } from './findings.ts';
import { registerMeaning, scaleFaults } from './registers.ts';
import { hexText } from './request-text.ts';

const MAX_FRAME_BYTES = 65_535;
/** Bytes of a field by its type. */
export const FIELD_BYTES = {
  uint8: 1,
  int8: 1,
  uint16: 2,
  int16: 2,
  uint32: 4,
  int32: 4,
  uint64: 8,
  int64: 8,
  float32: 4,
  float64: 8,
} as const;
type FieldType = keyof typeof FIELD_BYTES;

const order = () => z.enum(['big', 'little']).default('big');

/** Frame: its `start`, and its `length` or its `end`; or the silence behind it. */
export const frame = section({
  /** First bytes, in hex. */
  start: hexText().optional(),
  /** Bytes of the whole frame, or where in it they are told and how many come on top. */
  length: z
    .union([
      whole(1, MAX_FRAME_BYTES),
      section({
        at: whole(0, 255),
        type: z.enum(['uint8', 'uint16']).default('uint8'),
        order: order(),
        add: whole(-255, 255).default(0),
      }),
    ])
    .optional(),
  /** Last bytes, in hex. */
  end: hexText().optional(),
  /** Bytes behind `end`, such as a check sum. */
  tail: whole(0, 64).default(0),
  /** Silence that ends it. */
  gap: duration({ min: '1ms', max: '10s' }).optional(),
});

/** A number in a frame, with the meaning that a register has. */
export const frameField = section({
  /** First byte, from 0. */
  at: whole(0, MAX_FRAME_BYTES),
  type: z.enum(Object.keys(FIELD_BYTES) as [FieldType, ...FieldType[]]).default('uint16'),
  /** Which byte of a longer number comes first. */
  order: order(),
  /** Byte that counts what the frame holds, and the least count with which this field is in it. */
  counted: section({ at: whole(0, MAX_FRAME_BYTES), least: whole(1, 255) }).optional(),
  ...registerMeaning,
});

const CHECKS = [
  ...(['sum8', 'sum8-negative', 'sum16', 'sum16-negative', 'xor', 'lrc', 'vedirect'] as const),
  ...(['crc16-modbus', 'crc16-arc', 'crc16-ccitt', 'crc16-voltronic'] as const),
  ...(['nmea', 'p1', 'teleinfo'] as const),
] as const;
const place = () => whole(-MAX_FRAME_BYTES, MAX_FRAME_BYTES).optional();

/** Which check sum a line or frame has, and where; places below 0 count from its end. */
export const check = z
  .union([z.enum(CHECKS), section({ kind: z.enum(CHECKS), from: place(), to: place(), at: place() })])
  .transform((written): CheckConfig => (typeof written === 'string' ? { kind: written } : written));

/** Check sum of a command, which stands where the template says it. */
export const commandCheck = z
  .union([z.enum(CHECKS), section({ kind: z.enum(CHECKS), from: whole(0, MAX_FRAME_BYTES).optional() })])
  .transform(
    (written): Pick<CheckConfig, 'kind' | 'from'> => (typeof written === 'string' ? { kind: written } : written),
  );

export type CheckKind = (typeof CHECKS)[number];
export interface CheckConfig {
  readonly kind: CheckKind;
  /** First byte of the sum, by default the first of all. */
  readonly from?: number | undefined;
  /** Byte behind the last of the sum, by default the first of the check sum. */
  readonly to?: number | undefined;
  /** First byte of the check sum; by default it stands last. */
  readonly at?: number | undefined;
}
export type FrameConfig = z.infer<typeof frame>;
export type FrameField = z.infer<typeof frameField>;

interface Framed {
  readonly frame?: FrameConfig | undefined;
  readonly fields?: Readonly<Record<string, FrameField>> | undefined;
}

export function frameFaults({ frame: of, fields }: Framed, path: ConfigPath): Finding[] {
  if (of === undefined)
    return fields === undefined ? [] : [noEffect(path, 'fields', 'a frame: which bytes they are in')];
  const { start, length, end, gapMs } = of;
  const isOne = [length, end, gapMs].filter((one) => one !== undefined).length === 1;
  const hasStart = start !== undefined || gapMs !== undefined;
  const fixed = typeof length === 'number' ? length : MAX_FRAME_BYTES;
  const ofFields = Object.entries(fields ?? {}).flatMap(([key, field]) => {
    const at = [...path, 'fields', key];
    const most = fixed - FIELD_BYTES[field.type];
    return [
      ...(field.at <= most ? [] : [finding([...at, 'at'], 'behind the end of the frame:', `at most ${most}`)]),
      ...scaleFaults(field, at),
      ...bitFaults(field, at, 8 * FIELD_BYTES[field.type]),
    ];
  });
  return [
    ...(isOne
      ? []
      : [{ path: [...path, 'frame'], problem: 'no one end of', expected: 'length:, end: or gap:, one of them' }]),
    ...(hasStart
      ? []
      : [{ path: [...path, 'frame'], problem: 'no beginning of', expected: 'start: with its first bytes in hex' }]),
    ...ofFields,
  ];
}
