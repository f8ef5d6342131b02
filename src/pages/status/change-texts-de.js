/** Texts of the parts that change the configuration, in German. */
import { formsOf, named, typed } from '../shared/forms.js';

const { many } = formsOf('de-DE');
const inUnit = (unit) => (unit === '' ? '' : ` (${unit})`);

export const texts = {
  changeTitle: ({ name }) => `${named(name)} ändern`,
  addTitle: ({ what }) => `${what} hinzufügen`,
  whichSensor: 'Sensor',
  label: 'Bezeichnung',
  labelHint: 'Für Menschen; leer: der Name in Worten.',
  period: 'Abstand der Messungen',
  periodHint: 'Zum Beispiel 10s, 5m oder 1h30m.',
  newName: 'Name',
  newNameHint: 'Ein Buchstabe, dann Buchstaben, Ziffern, - oder _.',
  prefix: 'Vorsatz seiner Schlüssel',
  prefixHint: 'Steht auf der Plattform vor seinen Schlüsseln, wo ein anderer Sensor dieselben hat.',
  otherKeys: 'Alle übrigen Werte',
  alarmAbove: ({ name, unit }) => `Alarm über${inUnit(unit)}${name === undefined ? '' : `: ${named(name)}`}`,
  alarmBelow: ({ name, unit }) => `Alarm unter${inUnit(unit)}${name === undefined ? '' : `: ${named(name)}`}`,
  alarmBack: ({ unit }) => `Endet nach Rückkehr um${inUnit(unit)}`,
  alarmOnSite: ({ limit }) => `Alarm ${limit}: wird vor Ort in der Datei geändert.`,
  showDifference: 'Zeigen, was sich ändert',
  tryIt: 'Ausprobieren',
  tryHint:
    'Die Änderung läuft auf Probe: Die vorige Datei kommt von selbst zurück, wenn nicht alles wie zuvor arbeitet.',
  looking: 'Wird geprüft …',
  lookAgain: 'Noch einmal nachsehen',
  whatChanges: 'Das ändert sich',
  changeLine: ({ group, field, before, after }) =>
    `${group === '' ? '' : `${named(group)}, `}${field}: ${before} → ${after}`,
  noValue: 'nichts',
  addLine: ({ name, what }) => `Neuer Sensor ${named(name)}: ${what}`,
  restartsAgent: 'Der Agent startet dafür neu; diese Seite kommt von selbst wieder.',
  nothingChanged: 'Noch ist nichts geändert.',
  faultsFound: ({ count }) =>
    many(count, { one: '# Fehler: Er steht beim Feld.', other: '# Fehler: Sie stehen bei den Feldern.' }),
  faultWords: ({ problem, expected }) => `${problem}; erwartet: ${expected}`,
  lockedTitle: 'Von hier aus nicht möglich',
  lockedHint: 'Das wird vor Ort in der Datei geändert.',
  otherFile: ({ at }) =>
    `Die Datei wurde ${at === undefined ? 'inzwischen' : `um ${at}`} geändert: bitte noch einmal nachsehen. Das Eingegebene bleibt stehen.`,
  isNow: ({ value }) => `Jetzt gilt ${value}.`,
  settingsFailed: ({ words }) => `Die jetzigen Werte waren nicht zu bekommen. ${words}`,
  lastTen: 'Die letzten zehn',
  noHistory: 'Noch keine wurde ausprobiert.',
  historyLine: ({ hash, words, reason }) => `${typed(hash)} ${words}${reason === '' ? '' : `: ${reason}`}`,
  findParts: 'Nachsehen, was angeschlossen ist',
  findPartsHint:
    'Die Busse werden nach ihren Bausteinen gefragt, höchstens eine Minute lang. Ein Baustein, den kein Treiber kennt, kann die Frage für eine Einstellung halten: erst klären, was dort hängt.',
  foundNothing: 'Nichts wurde gefunden.',
  foundParts: ({ count }) => many(count, { one: '# Teil gefunden.', other: '# Teile gefunden.' }),
  partUsed: ({ sensor }) => `In Gebrauch: ${named(sensor)}.`,
  partUnknown:
    'Kein Treiber kennt es. Den Aufdruck lesen, und vor Ort in die Datei eintragen, wenn eine Art von Sensor passt.',
  partReads: ({ readings }) => `Gelesen: ${readings}.`,
  addPart: 'Hinzufügen',
  addPartOf: ({ what, place }) => `${what}, ${place}, hinzufügen`,
  linesTitle: 'Serielle Leitungen',
  lineUsed: ({ port, sensor }) => `${typed(port)} in Gebrauch: ${named(sensor)}`,
  lineFree: ({ port }) => typed(port),
  baudRateOf: ({ port }) => `Baudrate von ${port}`,
  askLine: 'Diese Leitung nach Modbus-Geräten fragen',
  askLineOf: ({ port }) => `${port} nach Modbus-Geräten fragen`,
};
