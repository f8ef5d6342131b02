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
  periodHint: 'Zum Beispiel 10 s, 5 min oder 1 h 30 min.',
  newPeriodHint: 'Zum Beispiel 10 s, 5 min oder 1 h 30 min; leer: wie üblich.',
  limitHint: 'Leeren nimmt den Alarm heraus.',
  alarmGoes: 'Der Alarm entfällt.',
  noNumberFrom: ({ least }) => `Gebraucht wird eine Zahl wie 1,5 oder 1.5, mindestens ${least}.`,
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
  newLine: ({ field, value }) => `${field}: ${value}`,
  usualPeriod: 'wie üblich',
  restartsAgent: 'Der Agent startet dafür neu; diese Seite kommt von selbst wieder.',
  nothingChanged: 'Noch ist nichts geändert.',
  faultsFound: ({ count }) =>
    many(count, { one: '# Fehler: Er steht beim Feld.', other: '# Fehler: Sie stehen bei den Feldern.' }),
  faultWords: ({ problem, expected, hint }) =>
    `${problem}; erwartet: ${expected}${hint === undefined ? '' : `; ${hint}`}`,
  lockedTitle: 'Von hier aus nicht möglich',
  lockedHint: ({ file }) =>
    `Das wird am Gerät in ${typed(file)} geändert, von jemandem, der diese Datei bearbeiten darf.`,
  lockedAllow: ({ file, allow }) =>
    `Wer am Gerät ${typed(file)} bearbeiten darf, schreibt dort unter ${typed('remoteConfiguration')} ${typed(`allow: [${allow}]`)}, neben das, was schon in dieser Liste steht. Dann hier noch einmal nachsehen.`,
  otherFile: ({ at }) =>
    `Die Datei wurde ${at === undefined ? 'inzwischen' : `um ${at}`} geändert: bitte noch einmal nachsehen. Das Eingegebene bleibt stehen.`,
  isNow: ({ value }) => `Jetzt gilt ${value}.`,
  settingsFailed: ({ words }) => `Die jetzigen Werte waren nicht zu bekommen. ${words}`,
  latestChanges: 'Letzte Änderungen',
  noTrial: 'Noch keine lief auf Probe.',
  historyLine: ({ hash, words, reason }) => `${typed(hash)} ${words}${reason === '' ? '' : `: ${reason}`}`,
  findParts: 'Nachsehen, was angeschlossen ist',
  findPartsHint:
    'Die Busse werden nach ihren Bausteinen gefragt, höchstens eine Minute lang. Ein unbekannter Baustein kann die Frage für einen Befehl halten: erst ansehen, was angeschlossen ist.',
  foundNothing: 'Nichts wurde gefunden.',
  foundParts: ({ count }) => many(count, { one: '# Teil gefunden.', other: '# Teile gefunden.' }),
  partUsed: ({ sensor }) => `In Gebrauch: ${named(sensor)}.`,
  partUnknown:
    'Kein Treiber kennt es. Den Aufdruck lesen, und vor Ort in die Datei eintragen, wenn eine Art von Sensor passt.',
  partTried: 'Soeben auf Probe hinzugefügt: noch einmal nachsehen zeigt, ob es in Gebrauch ist.',
  partReads: ({ readings }) => `Gelesen: ${readings}.`,
  addPart: 'Hinzufügen',
  addPartOf: ({ what, place }) => `${what}, ${place}, hinzufügen`,
  linesTitle: 'Serielle Leitungen',
  lineUsed: ({ port, sensor }) => `${typed(port)} in Gebrauch: ${named(sensor)}`,
  lineFree: ({ port }) => typed(port),
  baudRateOf: ({ port }) => `Baudrate von ${port}`,
  baudRate: ({ rate }) => `${rate} Baud`,
  askingLine: 'Die Leitung wird gefragt; das dauert bis zu einer Minute.',
  askLine: 'Diese Leitung nach Modbus-Geräten fragen',
  askLineOf: ({ port }) => `Diese Leitung nach Modbus-Geräten fragen: ${port}`,
};
