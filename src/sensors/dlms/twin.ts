/** Twin on a simulated board's port: a meter that pushes one list with codes, scalers and units, put together after IEC 62056-46 and 62056-6-1. */
import { crcX25 } from '../../stand-ins/simulated-board/reflected-crc.ts';
import type { Twin } from '../../stand-ins/simulated-board/twin.ts';

const PERIOD_MS = 2_500;

export const twin: Twin = {
  fitting: () => ({ talk: { kind: 'bytes', hex: frame(), periodMs: PERIOD_MS } }),
};

/** Power of 345 W, and a counter of 100 kWh in steps of 10 Wh. */
function frame(): string {
  const power = '0203 0906 0100010700ff 06 00000159 0202 0f00 161b';
  const energy = '0203 0906 0100010800ff 06 00002710 0202 0f01 161e';
  const content = bytes(`e6e700 0f 40000000 00 0102 ${power} ${energy}`);
  const header = bytes('a000 41 0883 13');
  header.writeUInt16BE(0xa000 + header.length + 2 + content.length + 2);
  const whole = withSum(Buffer.concat([withSum(header), content]));
  return Buffer.concat([bytes('7e'), whole, bytes('7e')]).toString('hex');
}

function bytes(hex: string): Buffer {
  return Buffer.from(hex.replaceAll(' ', ''), 'hex');
}

/** CRC-16/X-25 behind the bytes, low byte first. */
function withSum(content: Buffer): Buffer {
  const sum = crcX25(content);
  return Buffer.concat([content, Buffer.of(sum & 0xff, sum >> 8)]);
}
