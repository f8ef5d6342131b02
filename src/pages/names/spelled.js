// @ts-check
/** Keys as people write them: `roomTemperature` is "Room temperature", `cpuPercent` is "CPU percent". For keys that nobody has labelled. */

/** Words with a spelling of their own. */
const SPELLINGS = new Map(
  [
    ...[
      'CPU',
      'RAM',
      'SD',
      'USB',
      'IP',
      'MAC',
      'ID',
      'UTC',
      'GPS',
      'LTE',
      'WLAN',
      'AC',
      'DC',
      'PV',
      'EV',
      'SoC',
      'SoH',
      'THD',
    ],
    ...['CO', 'CO2', 'NO2', 'O3', 'VOC', 'TVOC', 'PM1', 'PM2.5', 'PM10', 'pH', 'UV', 'RSSI', 'SNR', 'LED', 'RPM'],
    ...[
      'L1',
      'L2',
      'L3',
      'N',
      'T1',
      'T2',
      'T3',
      'T4',
      'kW',
      'kWh',
      'Wh',
      'MWh',
      'kVA',
      'kvar',
      'kvarh',
      'VA',
      'W',
      'V',
      'A',
      'Hz',
    ],
  ].map((word) => [word.toLowerCase(), word]),
);
SPELLINGS.set('pm25', 'PM2.5');
SPELLINGS.set('wifi', 'Wi-Fi');

/** Signs between words that no spelling has. */
const BLANKS = /[\s_/]+/;
/** Other signs, small before large (`roomTemperature`), the end of capitals (`CPUPercent`), and a digit before a capital (`co2Level`). */
const BORDERS = /[.:-]+|(?<=[a-zß-ÿ])(?=[A-ZÀ-Þ])|(?<=[A-ZÀ-Þ])(?=[A-ZÀ-Þ][a-zß-ÿ])|(?<=\d)(?=[A-ZÀ-Þ])/;

/** Returns a key in words, the first with a capital; one without a letter, such as an OBIS number, stays. @type {(key: string) => string} */
export function spelled(key) {
  if (!/\p{L}/u.test(key)) return key;
  return key
    .split(BLANKS)
    .flatMap((part) => (SPELLINGS.has(part.toLowerCase()) ? [part] : part.split(BORDERS)))
    .filter((part) => part !== '')
    .flatMap(withoutNumber)
    .map((word, at) => SPELLINGS.get(word.toLowerCase()) ?? plain(word, at === 0))
    .join(' ');
}

/** Parts a word from the number behind it, but for words such as CO2. @type {(part: string) => readonly string[]} */
function withoutNumber(part) {
  const [, letters, digits] = /^(\D*[a-zß-ÿ]{3,})(\d+)$/.exec(part) ?? [];
  return letters === undefined || digits === undefined ? [part] : [letters, digits];
}

/** Capitals that are no spelling of this list stay, as they stand for something. @type {(word: string, isFirst: boolean) => string} */
function plain(word, isFirst) {
  const isAcronym = word.length > 1 && word === word.toUpperCase();
  const small = isAcronym ? word : word.toLowerCase();
  return isFirst ? small.charAt(0).toUpperCase() + small.slice(1) : small;
}
