import { describe, expect, it } from 'vitest';
import { ASCII, crc16, parseTcpFrame, RTU, tcpFrame } from '../../../src/hardware/modbus-frames.ts';
import {
  checkWritten,
  parseBits,
  parseRegisters,
  readRequest,
  writeCoilRequest,
  writeRegistersRequest,
} from '../../../src/hardware/modbus-pdu.ts';
import { decodeModbus, encodeModbus, type ModbusLayout } from '../../../src/hardware/modbus-values.ts';
import { forRandomBytes, mulberry32 } from '../../support/random-bytes.ts';

const hex = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text.replaceAll(' ', ''), 'hex'));

// The examples of the MODBUS Application Protocol Specification V1.1b3, by section.
describe('the PDUs of the specification', () => {
  it('6.1 Read Coils: 20 to 38', () => {
    expect(readRequest(1, { address: 0x13, count: 19 })).toEqual(hex('01 00 13 00 13'));
    const bits = parseBits(hex('01 03 CD 6B 05'), 1, 19);
    expect(bits.map(Number).join('')).toBe('1011001111010110101');
  });
  it('6.3 Read Holding Registers: 108 to 110 are 555, 0, 100', () => {
    expect(readRequest(3, { address: 0x6b, count: 3 })).toEqual(hex('03 00 6B 00 03'));
    expect(parseRegisters(hex('03 06 02 2B 00 00 00 64'), 3, 3)).toEqual([555, 0, 100]);
  });
  it('6.5 Write Single Coil: 173 on', () => {
    expect(writeCoilRequest(0xac, true)).toEqual(hex('05 00 AC FF 00'));
    checkWritten(hex('05 00 AC FF 00'), hex('05 00 AC FF 00'));
  });
  it('6.6 Write Single Register and 6.12 Write Multiple Registers', () => {
    expect(writeRegistersRequest(1, [3])).toEqual(hex('06 00 01 00 03'));
    const request = writeRegistersRequest(1, [0x0a, 0x0102]);
    expect(request).toEqual(hex('10 00 01 00 02 04 00 0A 01 02'));
    checkWritten(hex('10 00 01 00 02'), request);
    expect(() => checkWritten(hex('10 00 01 00 01'), request)).toThrow(/echo that differs/);
  });
  it('7 Exception Responses: a coil that does not exist', () => {
    expect(() => parseBits(hex('81 02'), 1, 1)).toThrow(/refused: illegal data address/);
    try {
      parseBits(hex('81 06'), 1, 1);
    } catch (error) {
      expect(error).toMatchObject({ code: 'hardware/modbus-busy', recovery: 'retry' });
    }
  });
});

describe('frames', () => {
  // CRC-16/MODBUS of "123456789" is 4B37 in Greg Cook's catalogue of parametrised CRC algorithms.
  it('have the check sum of the catalogue', () => expect(crc16(Buffer.from('123456789'))).toBe(0x4b37));

  it('carry a PDU there and back', () => {
    const pdu = hex('03 06 02 2B 00 00 00 64');
    for (const framing of [RTU, ASCII]) {
      const sent = framing.frame(17, pdu);
      expect(framing.begun(sent)).toEqual({ unitId: 17, pdu: expect.anything(), length: sent.length });
      expect(Uint8Array.from(framing.begun(sent)?.pdu ?? [])).toEqual(pdu);
      expect(framing.begun(sent.subarray(0, -1))).toMatchObject({ unitId: 17, length: undefined });
      const damaged = Uint8Array.from(sent, (byte, at) => (at === 9 ? byte ^ 1 : byte));
      expect(framing.begun(damaged)).toBeUndefined();
    }
    // V1.02, section 6.2: digits in capitals, LRC before CR LF.
    expect(Buffer.from(ASCII.frame(1, hex('03 00 00 00 01'))).toString('latin1')).toBe(':010300000001FB\r\n');
    const frame = tcpFrame(0x1234, 17, pdu);
    expect(parseTcpFrame(frame)).toMatchObject({ transaction: 0x1234, unitId: 17, length: frame.length });
    expect(parseTcpFrame(frame.subarray(0, -1))).toBeUndefined();
  });

  it('answer any bytes with a PDU of the right sum or an AgentError', () => {
    let whole = 0;
    forRandomBytes(100_000, 12, (bytes, random) => {
      if (random() < 0.3) {
        bytes.set([3, 7], 1);
        bytes.writeUInt16LE(crc16(bytes.subarray(0, 10)), 10);
      }
      ASCII.begun(bytes);
      parseTcpFrame(bytes.subarray(0, Math.floor(random() * 13)));
      const { pdu, length } = RTU.begun(bytes) ?? {};
      if (pdu === undefined || length === undefined) return;
      whole += 1;
      if (bytes[1] === 3) parseRegisters(pdu, 3, (bytes[2] ?? 0) >> 1);
    });
    expect(whole).toBeGreaterThan(15_000);
  });
});

describe('values', () => {
  const layouts: readonly ModbusLayout[] = (
    ['uint16', 'int16', 'uint32', 'int32', 'uint64', 'int64', 'float32', 'float64'] as const
  ).flatMap((type) =>
    (['big', 'little'] as const).flatMap((wordOrder) =>
      (['big', 'little'] as const).map((byteOrder) => ({ type, wordOrder, byteOrder })),
    ),
  );

  it('lie in registers as makers order them', () => {
    const float = { type: 'float32', wordOrder: 'big', byteOrder: 'big' } as const;
    expect(decodeModbus([0x4248, 0x0000], float)).toBe(50); // IEEE 754: 50.0 is 42480000
    expect(decodeModbus([0x0000, 0x4248], { ...float, wordOrder: 'little' })).toBe(50);
    expect(decodeModbus([0x4842, 0x0000], { ...float, byteOrder: 'little' })).toBe(50);
    expect(decodeModbus([0x0000, 0x4842], { ...float, wordOrder: 'little', byteOrder: 'little' })).toBe(50);
    expect(decodeModbus([0x0008], { type: 'bool', wordOrder: 'big', byteOrder: 'big', bit: 3 })).toBe(true);
    expect(decodeModbus([0x4d65, 0x7465, 0x7200], { type: 'string', wordOrder: 'big', byteOrder: 'big' })).toBe(
      'Meter',
    );
    expect(() => decodeModbus([0x7fc0, 0], float)).toThrow(/no number/);
  });

  it('come back as they were written', () => {
    const random = mulberry32(7);
    for (let at = 0; at < 20_000; at += 1) {
      const layout = layouts[Math.floor(random() * layouts.length)] as ModbusLayout;
      const unsigned = layout.type.startsWith('u');
      const value = layout.type.startsWith('float')
        ? Math.fround((random() - 0.5) * 1e6)
        : Math.floor(random() * 0x7fff) * (unsigned || random() < 0.5 ? 1 : -1);
      const decoded = decodeModbus(encodeModbus(value, layout), layout);
      expect(layout.type === 'float32' ? Math.fround(Number(decoded)) : decoded).toBe(value);
    }
  });

  it('are refused when they do not fit', () => {
    expect(() => encodeModbus(65_536, { type: 'uint16', wordOrder: 'big', byteOrder: 'big' })).toThrow(
      /does not fit into uint16/,
    );
    expect(() => encodeModbus(Number.NaN, { type: 'float32', wordOrder: 'big', byteOrder: 'big' })).toThrow(
      /does not fit/,
    );
  });
});
