/** A satellite receiver: RMC and GGA sentences, with the values the agent must make of them in the record. */
import type { SerialTalkConfig } from '../board-config.ts';
import { rounded } from './numbers.ts';
import type { Talker, TalkerContext } from './talker.ts';

type NmeaConfig = Extract<SerialTalkConfig, { readonly kind: 'nmea' }>;

const KILOMETRES_PER_NAUTICAL_MILE = 1.852;
const SATELLITES = 8;
const ALTITUDE = 353.2;

export function nmeaTalker(config: NmeaConfig, { clock, print, signals, source }: TalkerContext): Talker {
  for (const name of ['latitude', 'longitude', 'speedKnots'] as const) signals.add(`${source}/${name}`, config[name]);
  const value = (name: string): number => signals.value(`${source}/${name}`);
  const printNow = (): void => {
    const latitude = degreesAndMinutes(value('latitude'), 2);
    const longitude = degreesAndMinutes(value('longitude'), 3);
    const knots = value('speedKnots').toFixed(1);
    const now = new Date(clock.wallMs()).toISOString();
    const time = now.slice(11, 19).replaceAll(':', '');
    const date = now.slice(8, 10) + now.slice(5, 7) + now.slice(2, 4);
    const position = `${latitude.text},${latitude.degrees < 0 ? 'S' : 'N'},${longitude.text},${longitude.degrees < 0 ? 'W' : 'E'}`;
    const lines = [
      `GPRMC,${time},A,${position},${knots},84.4,${date},,`,
      `GPGGA,${time},${position},1,${SATELLITES},0.9,${ALTITUDE},M,46.9,M,,`,
    ];
    const speed = rounded(Number(knots) * KILOMETRES_PER_NAUTICAL_MILE, 3);
    const shown = { latitude: latitude.degrees, longitude: longitude.degrees, speed };
    print(lines.map((line) => `$${line}*${checkSum(line)}\r\n`).join(''), shown, config.keys);
  };
  const schedule = (): (() => void) =>
    clock.after(config.periodMs, () => {
      printNow();
      cancel = schedule();
    });
  let cancel = schedule();
  return { receive: () => {}, close: () => cancel() };
}

/** `4704.2000` for 47.07: degrees, then minutes with four decimals; and the degrees that this means. */
function degreesAndMinutes(value: number, digits: number): { readonly text: string; readonly degrees: number } {
  const whole = Math.floor(Math.abs(value));
  const minutes = Math.min(59.9999, Math.round((Math.abs(value) - whole) * 600_000) / 10_000);
  const text = `${String(whole).padStart(digits, '0')}${minutes.toFixed(4).padStart(7, '0')}`;
  return { text, degrees: rounded(Math.sign(value) * (whole + minutes / 60), 7) };
}

function checkSum(text: string): string {
  const sum = [...text].reduce((xor, character) => xor ^ character.charCodeAt(0), 0);
  return sum.toString(16).toUpperCase().padStart(2, '0');
}
