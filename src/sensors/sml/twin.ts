/** Twin on a simulated board's port: a meter that sends one telegram over and over, put together after SML 1.04. */
import { crcX25 } from '../../stand-ins/simulated-board/reflected-crc.ts';
import type { Twin } from '../../stand-ins/simulated-board/twin.ts';

const PERIOD_MS = 1_000;

export const twin: Twin = {
  fitting: () => ({ talk: { kind: 'bytes', hex: telegram(), periodMs: PERIOD_MS } }),
};

/** Counter of 100 kWh, in steps of 0.1 Wh, and a power of 345 W. */
function telegram(): string {
  const energy = '77 07 0100010800ff 01 01 62 1e 52 ff 65 000f4240 01';
  const power = '77 07 0100100700ff 01 01 62 1b 52 00 53 0159 01';
  const list = `77 01 0b 0a015453540000000001 01 01 72 ${energy} ${power} 01 01`;
  const message = bytes(`76 05 00000001 62 00 62 00 72 63 0701 ${list} 63 0000 00`);
  const padding = (4 - (message.length % 4)) % 4;
  const whole = Buffer.concat([
    bytes('1b1b1b1b 01010101'),
    message,
    Buffer.alloc(padding),
    bytes('1b1b1b1b 1a'),
    Buffer.of(padding),
  ]);
  const sum = crcX25(whole);
  return Buffer.concat([whole, Buffer.of(sum & 0xff, sum >> 8)]).toString('hex');
}

function bytes(hex: string): Buffer {
  return Buffer.from(hex.replaceAll(' ', ''), 'hex');
}
