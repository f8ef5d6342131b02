/** Twin on a simulated board's port: an electricity meter of mode C with 9600 baud, put together after IEC 62056-21. */
import type { Twin } from '../../stand-ins/simulated-board/twin.ts';
import type { Iec62056Config } from './definition.ts';

const IDENTIFICATION = '/TST5TWIN\r\n';
const VALUES: Readonly<Record<string, string>> = {
  '0.0.0': '00000042',
  '1.8.0': '000100.00*kWh',
  '16.7.0': '-000.345*kW',
  '32.7.0': '230.1*V',
};
const PUSH_MS = 2_000;

export const twin: Twin = {
  fitting: ({ address, mode, readRegisters: registers = [] }: Iec62056Config) => {
    const lines = Object.entries({ ...VALUES, ...(address === undefined ? {} : { '0.0.0': address }) }).map(
      ([code, value]) => `${code}(${value})\r\n`,
    );
    const readout = `\x02${withSum(`${lines.join('')}!\r\n\x03`)}`;
    if (mode === 'D') return { talk: { kind: 'bytes', hex: hex(IDENTIFICATION + readout), periodMs: PUSH_MS } };
    const answers: Record<string, string> = { [hex(`/?${address ?? ''}!\r\n`)]: hex(IDENTIFICATION) };
    for (const speed of '012345') {
      answers[hex(`\x060${speed}0\r\n`)] = hex(readout);
      answers[hex(`\x060${speed}1\r\n`)] = hex(`\x01${withSum('P0\x02()\x03')}`);
    }
    for (const code of registers)
      answers[hex(`\x01${withSum(`R1\x02${code}()\x03`)}`)] = hex(`\x02${withSum(`(${VALUES[code] ?? '0'})\x03`)}`);
    return { talk: { kind: 'answers', answers } };
  },
};

function withSum(content: string): string {
  const sum = [...Buffer.from(content, 'latin1')].reduce((total, byte) => total ^ byte, 0);
  return content + String.fromCharCode(sum);
}

function hex(text: string): string {
  return Buffer.from(text, 'latin1').toString('hex');
}
