/** `turnstone scan`: what hangs on a bus or port, and the lines of configuration that switch it on. */
import { argument, type Call, command, taking, toggle, valued, wholeNumber } from '../command.ts';

const BUSES = ['i2c', 'serial', 'gpio', 'one-wire'] as const;
export type BusKind = (typeof BUSES)[number];

const ARGUMENTS = {
  bus: argument(BUSES.join(', '), { parse: taking(`one of ${BUSES.join(', ')}`, (text) => BUSES.find((bus) => bus === text)) }),
};
const OPTIONS = {
  bus: valued('<number>', 'only this I2C bus', { parse: wholeNumber('the N of /dev/i2c-N', 0, 999) }),
  addressesOnly: toggle('on I2C, show who answers and write nothing to them'),
  config: valued('<file>', 'use the hardware section of this configuration'),
  simulate: valued('<socket>', 'look at the simulated board on this socket'),
  json: toggle('print what was found as JSON'),
};
export type ScanCall = Call<typeof OPTIONS, typeof ARGUMENTS>;

export const SCAN = command('scan', {
  says: 'show what hangs on a bus: i2c, serial, gpio or one-wire',
  arguments: ARGUMENTS,
  options: OPTIONS,
  takesSettings: true,
  examples: ['scan i2c', 'scan i2c --bus 1 --json', 'scan serial', 'scan gpio', 'scan one-wire'],
  notes: `\
Nothing is configured and no port opened. To tell I2C chips apart a register of each that answers is read. A few simple converters, expanders
and bus switches have none and take the register’s number for a setting: where one of them drives something, look with --addresses-only.`,
  run: async (call) => (await import('../scan.ts')).scan(call),
});
