/** Texts of the parts that change the configuration, in English. */
import { formsOf, named, typed } from '../shared/forms.js';

const { many } = formsOf('en-GB');
const inUnit = (unit) => (unit === '' ? '' : ` (${unit})`);

export const texts = {
  changeTitle: ({ name }) => `Change ${named(name)}`,
  addTitle: ({ what }) => `Add ${what}`,
  whichSensor: 'Sensor',
  label: 'Label',
  labelHint: 'For people; empty: the name in words.',
  period: 'Period',
  periodHint: 'Such as 10s, 5m or 1h30m.',
  newName: 'Name',
  newNameHint: 'A letter, then letters, digits, - or _.',
  prefix: 'Prefix of its keys',
  prefixHint: 'Stands before its keys at the platform, where another sensor has the same ones.',
  otherKeys: 'All other values',
  alarmAbove: ({ name, unit }) => `Alarm above${inUnit(unit)}${name === undefined ? '' : `: ${named(name)}`}`,
  alarmBelow: ({ name, unit }) => `Alarm below${inUnit(unit)}${name === undefined ? '' : `: ${named(name)}`}`,
  alarmBack: ({ unit }) => `Ends once it has come back by${inUnit(unit)}`,
  alarmOnSite: ({ limit }) => `Alarm ${limit}: changed in the file, on site.`,
  showDifference: 'Show what changes',
  tryIt: 'Try it',
  tryHint: 'It goes on trial: the file of before returns by itself unless all works as before.',
  looking: 'Looking …',
  lookAgain: 'Look again',
  whatChanges: 'What changes',
  changeLine: ({ group, field, before, after }) =>
    `${group === '' ? '' : `${named(group)}, `}${field}: ${before} → ${after}`,
  noValue: 'nothing',
  addLine: ({ name, what }) => `New sensor ${named(name)}: ${what}`,
  restartsAgent: 'The agent restarts for it; this page comes back by itself.',
  nothingChanged: 'Nothing is changed yet.',
  faultsFound: ({ count }) => many(count, { one: '# mistake: see the field.', other: '# mistakes: see the fields.' }),
  faultWords: ({ problem, expected }) => `${problem}; expected: ${expected}`,
  lockedTitle: 'Not possible from here',
  lockedHint: 'It is changed on site, in the file.',
  otherFile: ({ at }) =>
    `Somebody changed the file${at === undefined ? '' : ` at ${at}`}: look again. What you have typed stays.`,
  isNow: ({ value }) => `It is ${value} now.`,
  settingsFailed: ({ words }) => `The present values could not be had. ${words}`,
  lastTen: 'The last ten',
  noHistory: 'None was tried yet.',
  historyLine: ({ hash, words, reason }) => `${typed(hash)} ${words}${reason === '' ? '' : `: ${reason}`}`,
  findParts: 'Look for what is connected',
  findPartsHint:
    'Buses are asked for their parts, for a minute at most. A part that no driver knows may take the question for a setting: know first what hangs there.',
  foundNothing: 'Nothing was found.',
  foundParts: ({ count }) => many(count, { one: '# part found.', other: '# parts found.' }),
  partUsed: ({ sensor }) => `In use: ${named(sensor)}.`,
  partUnknown:
    'No driver knows it. Look at what is printed on it, and write it into the file on site where a kind of sensor fits.',
  partReads: ({ readings }) => `It reads ${readings}.`,
  addPart: 'Add',
  addPartOf: ({ what, place }) => `Add ${what}, ${place}`,
  linesTitle: 'Serial lines',
  lineUsed: ({ port, sensor }) => `${typed(port)} in use: ${named(sensor)}`,
  lineFree: ({ port }) => typed(port),
  baudRateOf: ({ port }) => `Baud rate of ${port}`,
  askLine: 'Ask this line for Modbus devices',
  askLineOf: ({ port }) => `Ask ${port} for Modbus devices`,
};
