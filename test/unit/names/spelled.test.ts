/** Keys in words. */
import { expect, it } from 'vitest';
import { nameText } from '../../../src/names/shown-text.ts';
import { spelled } from '../../../src/pages/names/spelled.js';

it.each([
  ['roomTemperature', 'Room temperature'],
  ['temperature', 'Temperature'],
  ['cpuPercent', 'CPU percent'],
  ['CPUPercent', 'CPU percent'],
  ['co2', 'CO2'],
  ['co2Level', 'CO2 level'],
  ['pm25', 'PM2.5'],
  ['pm2.5', 'PM2.5'],
  ['wifiRssi', 'Wi-Fi RSSI'],
  ['voltageL1', 'Voltage L1'],
  ['voltageL1L2', 'Voltage L1 L2'],
  ['energyImportT1', 'Energy import T1'],
  ['temperature12', 'Temperature 12'],
  ['relay1', 'Relay 1'],
  ['disk_free_kWh', 'Disk free kWh'],
  ['temperature_mean', 'Temperature mean'],
  ['pH', 'pH'],
  ['batterySoc', 'Battery SoC'],
  ['28-00000abc', '28 00000abc'],
  ['XYZSensor', 'XYZ sensor'],
  ['kühlraumTür', 'Kühlraum tür'],
  ['1-0:1.8.0', '1-0:1.8.0'],
  ['---', '---'],
  ['温度', '温度'],
])('spells %s as %s', (key, words) => {
  expect(spelled(key)).toBe(words);
});

it('takes the label before the key', () => {
  expect([nameText({ label: 'kitchen', key: 'roomTemperature' }), nameText({ key: 'roomTemperature' })]).toEqual([
    'kitchen',
    'Room temperature',
  ]);
});
