/** Sentences of the agent in German, by id: the same ids and values as in English, which src/names/sentences.ts orders. Loaded on a German page alone. */
import { foreign, formsOf, named, typed } from './forms.js';
import { say } from './texts.js';
import { ago, count, duration, limitOf, shown } from './words.js';

const { many } = formsOf('de-DE');
const WRITERS = {
  rpc: 'Plattform',
  shared: 'Attribut der Plattform',
  rule: 'Regel',
  local: 'vor Ort',
  restore: 'wiederhergestellt',
  'safe-state': 'sicherer Zustand',
};
const ENDED_BY = {
  maxOn: 'die längste Einschaltdauer',
  ruleChange: 'eine Regel, die anders entschieden hat',
  released: 'eine Freigabe',
  time: 'den Ablauf der Zeit',
  'no contact': 'den Verlust der Verbindung zur Plattform',
  'safe state': 'einen sicheren Zustand',
  failed: 'einen Fehler',
};
const WHO = { platform: 'Die Plattform', local: 'Jemand am Gerät', page: 'Jemand auf der Seite' };
const CHANGE_FROM = {
  package: 'von der Plattform',
  patch: 'von der Plattform',
  page: 'von der Seite',
  local: 'von der Kommandozeile',
};
const DID = { set: 'geschaltet', pulsed: 'mit einem Impuls geschaltet', released: 'freigegeben' };
const DEVICE_STATES = {
  blocked: 'gesperrt',
  unidentified: 'noch nicht erkannt',
  provisioning: 'noch ohne Token',
  removed: 'entfernt',
  ready: 'bereit',
};

/** Checks of the doctor, by id. */
export const CHECKS = {
  restore: 'keine Wiederherstellung wurde abgebrochen',
  configuration: 'die Konfiguration ist richtig',
  'configuration-warnings': 'die Konfiguration hat keine Schwachstelle',
  'state-folder': 'in den Zustandsordner kann geschrieben werden',
  secrets: 'niemand sonst kann die Zugangsdaten lesen',
  'config-readable': 'der Dienst kann seine Konfiguration lesen',
  'remote-configuration': 'es ist klar, was sich aus der Ferne ändern lässt',
  devices: 'alle Busse und Anschlüsse sind da',
  permissions: 'der Dienst darf alle Busse und Anschlüsse benutzen',
  'shared-ports': 'kein anderes Programm liest die seriellen Anschlüsse',
  sensors: 'alle Sensoren antworten',
  actuators: 'alle Ausgänge sind bekanntermaßen, wie sie sein sollen',
  dns: 'der Name der Plattform ist bekannt',
  route: 'es gibt einen Weg nach draußen',
  proxy: 'der Proxy nimmt Verbindungen an',
  reachable: 'die Plattform nimmt Verbindungen an',
  tls: 'das Zertifikat der Plattform ist gut',
  token: 'die Plattform kennt dieses Gerät',
  clock: 'die Uhr ist synchronisiert',
  'disk-space': 'der Datenträger hat Platz',
  'disk-health': 'der Datenträger ist gesund',
  'kernel-drivers': 'der Kernel hat die Treiber der Bausteine, die gebraucht werden',
  'drop-ins': 'die Dienstdatei gibt frei, was die Konfiguration braucht',
  'storage-life': 'der Flash-Speicher hat noch Lebensdauer',
  wear: 'es wird nicht zu viel geschrieben',
  memory: 'es ist Arbeitsspeicher frei',
  unit: 'der Dienst ist installiert und läuft',
  watchdog: 'ein eingefrorener Agent wird neu gestartet',
  agent: 'der Agent antwortet',
  uploads: 'Messwerte kommen bei der Plattform an',
  'attached-devices': 'angeschlossene Geräte übertragen',
  outbox: 'die Warteschlange behält alles',
  link: 'der Monat der Leitung reicht',
  firmware: 'das letzte Update ist gelungen',
  lockout: 'Befehle aus der Ferne werden durchgelassen',
  page: 'niemand hört mit, was die Statusseite sagt',
  alerts: 'es gibt keine Hinweise',
};

/** A sentence in German; what is English text is marked as such. @throws Error for an id that is not known here. */
export function inGerman(told) {
  if (typeof told === 'string') return foreign(told);
  const make = sentences[told.id];
  if (make === undefined) throw new Error(`there is no sentence ${told.id}`);
  return make(told.values);
}

const span = (ms) => duration(ms / 1000);
const since = ({ agoMs }) => (agoMs === undefined ? '' : `, ${say('forTime', { time: span(agoMs) })}`);
const before = ({ agoMs }) => (agoMs === undefined ? '' : ` ${ago(agoMs / 1000)}`);
const because = (why) => (why === undefined ? '' : `: ${inGerman(why)}`);
const theChange = ({ hash, by, package: name }) =>
  `${hash === undefined ? 'Eine Änderung der Konfiguration' : `Die Konfiguration ${typed(hash)}`} ${CHANGE_FROM[by]}${name === undefined ? '' : `, im Paket ${named(name)},`}`;
const writer = (by) => WRITERS[by] ?? foreign(by);
const value = (values) =>
  shown(values.value, { class: values.class, unit: values.unit, above: values.above, below: values.below });
const isNow = (values) => `${named(values.output)}: ${value(values)}`;
const wish = (v) =>
  v.value === undefined ? `${named(v.output)} bedienen` : `${named(v.output)} auf „${value(v)}“ setzen`;
const edge = ({ edge: told, output }) =>
  `${inGerman(told)}, aber ${output === undefined ? 'der Ausgang' : named(output)}`;
const entries = (number) => many(number, { one: '# Eintrag wartet', other: '# Einträge warten' });
const held = ({ held: number }) => (number === 0 ? '' : `, ${entries(number)}`);
const day = (text) => text.replace('Z', ' (UTC)');
const spares = (what) => `Die Leitung spart, was vom Monat noch übrig ist: ${what}.`;

export const sentences = {
  outputAsItWas: () => 'wie zuvor: nichts bestimmt den Zustand',
  outputLimit: (v) => `${value(v)}, die längste Einschaltdauer (maxOn) ist erreicht${since(v)}`,
  outputRuleSet: (v) => `${value(v)}, wegen der Regel ${named(v.rule)}${since(v)}`,
  outputRuleReleased: (v) => `${value(v)}, die Bedingung der Regel ${named(v.rule)} ist nicht erfüllt${since(v)}`,
  outputRuleLost: (v) => `${value(v)}, die Regel ${named(v.rule)} hat ihren Sensor verloren`,
  outputPulse: (v) => `${value(v)}, wegen eines Impulses (${writer(v.by)})${since(v)}`,
  outputOperator: (v) =>
    `${value(v)}, von Hand (${writer(v.by)})${since(v)}${v.leftMs === undefined ? '' : `, noch ${span(v.leftMs)}`}`,
  outputNoContact: (v) => `${value(v)}, ohne Verbindung zur Plattform (noContact)${since(v)}`,
  outputStart: (v) => `${value(v)}, der Zustand beim Start`,
  outputLeft: (v) => `${value(v)}, wie die Regel ${named(v.rule)} es hinterlassen hat`,
  outputNothing: (v) =>
    `${value(v)}, ein Impuls ist zu Ende oder ein Sensor verloren, und sonst bestimmt nichts den Zustand`,
  outputNotYet: ({ why }) => `noch nicht: ${inGerman(why)}`,
  outputUnwritten: () => 'seit dem Start nicht geschrieben',
  outputLastWritten: (v) => `zuletzt geschrieben: ${value(v)}, seit dem Start nicht mehr`,
  outputUnproven: () => 'der Broker hat es angenommen; dass sich etwas bewegt hat, ist durch nichts belegt',
  outputWasAway: () => 'das Gerät oder seine Leitung war seither weg; dass es noch so ist, ist durch nichts belegt',
  outputAtDevice: (v) => `am Gerät geändert: ${value(v)}`,
  operatorEnded: (v) =>
    `„${value(v)}“ von Hand (${writer(v.by)}) wurde${before(v)} beendet durch ${ENDED_BY[v.end] ?? foreign(v.end)}`,
  writer: ({ by }) => writer(by),
  causeTimeOver: () => 'die Zeit der Bedienung von Hand ist abgelaufen',
  causePauseOver: () => 'die Pause nach der längsten Einschaltdauer ist vorbei',
  causeAttributeGone: () => 'das Attribut der Plattform wurde gelöscht',
  causeSensorLost: ({ rule }) => `die Regel ${named(rule)} hat ihren Sensor verloren`,
  causeFirstReading: ({ rule }) => `die Regel ${named(rule)} hat ihren ersten Messwert`,
  causeSensorBack: ({ rule }) => `der Sensor der Regel ${named(rule)} ist wieder da`,
  causeRuleGone: ({ rule }) => `die Regel ${named(rule)} wurde entfernt oder abgeschaltet`,
  causeRuleChanged: ({ rule }) => `die Regel ${named(rule)} wurde geändert`,
  causeRulesReordered: () => 'die Regeln stehen in anderer Reihenfolge',
  ruleRemoved: () => 'sie wurde entfernt oder abgeschaltet',
  outputIs: ({ output, is }) => `${named(output)}: ${inGerman(is)}`,
  causePassed: () => 'was im Weg stand, ist vorbei',
  lockedOut: ({ output }) => `${named(output)} wird nicht geschaltet: Die Fernsteuerung ist am Gerät gesperrt`,
  interlocked: ({ output, other, why }) =>
    `${named(output)} ist nie zusammen mit ${named(other)} ein: ${inGerman(why)}`,
  hasJustGoneOff: () => 'das andere wurde gerade erst ausgeschaltet',
  isActive: () => 'das andere ist ein',
  agentStops: () => 'der Agent wird beendet',
  heldByRule: ({ output, rule }) => `die Regel ${named(rule)} hält ${named(output)}`,
  longestTimeOver: ({ output }) => `${named(output)} hat die längste Einschaltdauer erreicht`,
  longestTimeUnknown: ({ output }) =>
    `${named(output)} hat die längste Einschaltdauer erreicht, und ob es aus ist, ist nicht bekannt`,
  tooSoon: ({ output, leftS }) => `${named(output)} darf frühestens in ${leftS} s geschaltet werden`,
  tooManyStarts: ({ output, count: starts }) =>
    `${named(output)} wurde in einer Stunde ${many(starts, { other: '#-mal' })} eingeschaltet`,
  tooManyStartsPerhaps: ({ output }) =>
    `${named(output)} wurde in einer Stunde vielleicht zu oft eingeschaltet: Was bekannt war, ist verloren`,
  writeUnanswered: (v) =>
    `das Schreiben von ${value(v)} blieb ohne Antwort und kann noch ankommen: Es wird zurückgelesen, bis das bekannt ist`,
  notMoved: ({ output, why }) => `${named(output)} wurde nicht geschaltet: ${inGerman(why)}`,
  noAnswerWithin: ({ output, ms }) => `${named(output)} hat innerhalb von ${ms} ms nicht geantwortet`,
  doesNotSwitchOff: ({ output, why }) => `${named(output)} schaltet nicht aus: ${inGerman(why)}`,
  noSafeState: ({ output, why }) => `${named(output)} hat den sicheren Zustand nicht angenommen: ${inGerman(why)}`,
  noAnswerInTime: ({ what }) => `${foreign(what)}: keine Antwort innerhalb der Frist`,
  unitOwesAnswer: ({ unitId, line }) =>
    `das Modbus-Gerät ${unitId} an ${named(line)} hat eine frühere Anfrage noch nicht beantwortet`,
  noModbusHost: ({ host }) => `keine Verbindung zum Modbus-Host ${named(host)}`,
  wrongChip: (v) => `${v.address} an ${named(v.bus)} ist kein ${named(v.wanted)}: ${foreign(v.found)}`,
  stateNotKnown: () => 'der Zustand ist nicht bekannt',
  upToDate: () => 'alles übertragen',
  nothingSent: ({ why }) => `es wird nichts gesendet: ${inGerman(why)}`,
  nothingAsked: ({ why }) => `mit der Plattform wird nicht gesprochen: ${inGerman(why)}`,
  notReachedYet: () => 'die Plattform wurde noch nicht erreicht, der erste Versuch läuft',
  readingsKept: ({ why }) => `die Plattform ist erreichbar, und Messwerte bleiben hier${because(why)}`,
  readingsAtWakes: (v) =>
    `die Plattform ist erreichbar; Messwerte gehen gesammelt, ältere warten auf den nächsten Monat der Leitung, bis ${day(v.day)} oder bis er wieder reicht`,
  alarmsOnly: (v) =>
    `die Plattform ist erreichbar; alles außer Alarmen wartet auf den nächsten Monat der Leitung, bis ${day(v.day)} oder bis er wieder reicht`,
  nothingAcknowledged: () => 'die Plattform ist erreichbar und hat noch nichts bestätigt',
  entriesWait: ({ count: number, oldestMs, why }) =>
    `die Plattform ist erreichbar, ${entries(number)}, der älteste seit ${span(oldestMs).replace(/Tage$/, 'Tagen')}${because(why)}`,
  historyTomorrow: () => 'Älteres geht morgen (UTC), da link.daily verbraucht ist',
  historyForecast: () => 'Älteres geht, sobald die Prognose der Leitung Platz dafür lässt',
  clockNotRight: () => 'ob die Uhr richtig geht, ist noch nicht bekannt, und Messwerte warten auf ihre Zeit',
  entriesTriedLater: ({ count: number }) =>
    many(number, {
      one: '# Eintrag, den die Plattform nicht angenommen hat, wird später noch einmal versucht',
      other: '# Einträge, die die Plattform nicht angenommen hat, werden später noch einmal versucht',
    }),
  uploadPortal: ({ status }) =>
    `etwas auf dem Weg antwortet anstelle der Plattform (Status ${status}): eine Anmeldeseite oder ein Proxy`,
  uploadUnknown: ({ status }) => `die Plattform kennt dieses Gerät nicht (Status ${status}): das Zugangstoken prüfen`,
  uploadNotReached: ({ why }) => `die Plattform ist nicht erreichbar: ${inGerman(why)}`,
  uploadBusy: ({ status }) => `die Plattform ist ausgelastet (Status ${status})`,
  uploadRefused: ({ status }) => `die Plattform lehnt ab (Status ${status})`,
  contactFault: ({ problem, remedy }) => `${inGerman(problem)}; ${inGerman(remedy)}`,
  'no-network': () => 'diese Maschine hat kein Netzwerk',
  'no-network/remedy': () => `Kabel, Modem oder WLAN prüfen: ${typed('ip address')}, ${typed('ip route')}`,
  'no-route': ({ host }) => `es gibt keinen Weg zu ${named(host)}`,
  'no-route/remedy': () =>
    `den Router dieses Netzwerks prüfen: ${typed('ip route')}; und die Adresse in ${typed('platform.url')}`,
  'unknown-name': ({ host }) => `kein Nameserver kennt ${named(host)}`,
  'unknown-name/remedy': () =>
    `die Schreibweise von ${typed('platform.url')} prüfen und die Nameserver in ${typed('/etc/resolv.conf')}`,
  'no-name-server': ({ host }) => `kein Nameserver antwortet für ${named(host)}`,
  'no-name-server/remedy': () => `das Netzwerk prüfen und die Nameserver in ${typed('/etc/resolv.conf')}`,
  'connection-refused': ({ host }) => `${named(host)} lehnt Verbindungen ab`,
  'connection-refused/remedy': () => `den Port in ${typed('platform.url')} prüfen; läuft die Plattform?`,
  'no-answer': ({ host }) => `${named(host)} antwortet nicht`,
  'no-answer/remedy': () =>
    `die Adresse in ${typed('platform.url')} und die Firewalls auf dem Weg prüfen; läuft die Plattform?`,
  'connection-broken': ({ host }) => `${named(host)} bricht die Verbindung ab`,
  'connection-broken/remedy': () =>
    `prüfen, ob ${typed('platform.url')} mit ${typed('https://')} beginnen muss, und was zwischen hier und der Plattform steht`,
  'unknown-authority': ({ host }) =>
    `das Zertifikat von ${named(host)} ist von einer Stelle unterschrieben, der hier niemand vertraut`,
  'unknown-authority/remedy': () => `die PEM-Datei dieser Stelle als ${typed('platform.caFile')} angeben`,
  'wrong-name': ({ host }) => `das Zertifikat von ${named(host)} gilt für einen anderen Namen`,
  'wrong-name/remedy': () =>
    `den Namen aus dem Zertifikat in ${typed('platform.url')} schreiben oder das Zertifikat für diesen ausstellen lassen`,
  expired: ({ host }) => `das Zertifikat von ${named(host)} ist abgelaufen, oder diese Uhr geht falsch`,
  'expired/remedy': () => `diese Uhr prüfen (${typed('timedatectl')}); das Zertifikat auf der Plattform erneuern`,
  'not-yet-valid': ({ host }) => `das Zertifikat von ${named(host)} gilt noch nicht, oder diese Uhr geht falsch`,
  'not-yet-valid/remedy': () => `diese Uhr stellen: ${typed('timedatectl set-ntp true')}`,
  'no-tls': ({ host }) => `${named(host)} spricht kein TLS`,
  'no-tls/remedy': () => `${typed('http://')} in ${typed('platform.url')} schreiben, oder den Port, der TLS spricht`,
  'https-wanted': ({ host }) => `${named(host)} leitet von http auf https um`,
  'https-wanted/remedy': () => `${typed('https://')} in ${typed('platform.url')} schreiben`,
  'no-device-api': ({ host }) => `${named(host)} hat unter dieser Adresse keine Geräte-API (404)`,
  'no-device-api/remedy': () => `Schema, Host und Port der Plattform in ${typed('platform.url')} schreiben, ohne Pfad`,
  portal: ({ host, detail }) =>
    `etwas zwischen hier und ${named(host)} antwortet an dessen Stelle (${named(detail)}): eine Anmeldeseite oder ein Proxy`,
  'portal/remedy': () =>
    `in diesem Netzwerk mit einem Browser anmelden oder ${typed('platform.proxy')} setzen; ${typed('platform.url')} prüfen`,
  'proxy-login': () => 'der Proxy verlangt eine Anmeldung (407)',
  'proxy-login/remedy': () => `Benutzer und Passwort in ${typed('platform.proxy')} schreiben`,
  'proxy-refuses': ({ host, detail }) => `der Proxy lässt nicht zu ${named(host)} durch (${named(detail)})`,
  'proxy-refuses/remedy': () =>
    `die Plattform am Proxy erlauben oder ${typed('platform.url')} und ${typed('platform.proxy')} prüfen`,
  'proxy-unreachable': ({ why }) => `am Proxy: ${inGerman(why)}`,
  'proxy-unreachable/remedy': () => `${typed('platform.proxy')} prüfen, oder weglassen, wo kein Proxy nötig ist`,
  'token-refused': () => 'die Plattform kennt das Zugangstoken dieses Geräts nicht (401)',
  'token-refused/remedy': () =>
    `das Token mit den Zugangsdaten des Geräts auf der Plattform vergleichen oder das Gerät dort wiederherstellen; für eine andere Plattform oder einen anderen Mandanten: ${typed('turnstone identity forget --devices')}`,
  'device-refused': ({ detail }) => `die Plattform lehnt dieses Gerät ab (${named(detail)})`,
  'device-refused/remedy': () => 'das Gerät, sein Profil und die Grenzen seines Mandanten auf der Plattform ansehen',
  unavailable: ({ host, detail }) => `${named(host)} antwortet, dass die Plattform nicht da ist (${named(detail)})`,
  'unavailable/remedy': () => 'warten, bis die Plattform wieder läuft; Messwerte bleiben erhalten',
  'other-fault': ({ host, detail }) => `die Verbindung zu ${named(host)} schlägt fehl (${named(detail)})`,
  'other-fault/remedy': () => `${typed('turnstone doctor')} prüft jeden Schritt des Weges`,
  deviceShared: (v) => `liest dieselbe Seriennummer wie ${named(v.other)}${held(v)}: die Einträge bleiben hier`,
  deviceSharedRemedy: () => 'den beiden Slots verschiedene Adressen geben oder einen aus der Konfiguration nehmen',
  deviceWaits: (v) => `${inGerman(v.why)}${held(v)}`,
  deviceWaitsRemedy: () => 'den Slot aus der Konfiguration nehmen oder wieder füllen',
  deviceUnidentified: (v) => `die Seriennummer ist noch nicht bekannt${held(v)}`,
  deviceUnidentifiedRemedy: () =>
    `prüfen, ob das Gerät antwortet (${typed('turnstone sensors')}), und ob ${typed('devices.serialNumber')} Register und Muster richtig nennt`,
  deviceWithoutToken: (v) => `die Plattform hat noch kein Token vergeben${held(v)}${because(v.why)}`,
  deviceWithoutTokenRemedy: () => 'es wird weiter versucht; den Schlüssel für die Bereitstellung prüfen',
  deviceBlocked: (v) => `gesperrt${held(v)}: ${inGerman(v.why)}`,
  tokenRefused: () => 'die Plattform lehnt das Token ab',
  deviceFileMissing: () => `die Datei dorthin legen, wo der Eintrag unter ${typed('devices')} sie nennt`,
  deviceTokenInFile: ({ typed: name }) =>
    `das Gerät ${named(name)} auf der Plattform wiederherstellen, oder das Token berichtigen, das der Eintrag unter ${typed('devices')} enthält oder nennt, und den Agenten neu starten; für ein neues Token der Plattform: ${typed(`turnstone devices rotate ${name}`)}`,
  deviceBlockedRemedy: ({ typed: name }) =>
    `das Token eingeben, das die Plattform für das Gerät hat (${typed(`turnstone devices rotate ${name}`)}), oder, wenn es dort gelöscht wurde, ${typed(`turnstone devices remove ${name}`)}: steht es in der Konfiguration, wird es neu angelegt`,
  deviceGoneWhole: ({ gone }) => `${inGerman(gone)}, nichts wartet`,
  deviceGone: (v) => `${inGerman(v.gone)}${held(v)}${because(v.why)}`,
  goneByMove: () => 'an ein anderes Gateway gegangen',
  goneBySwap: () => 'gegen ein anderes Gerät getauscht',
  goneByConfig: () => 'aus der Konfiguration genommen',
  deviceGoneRemedy: ({ typed: name }) =>
    `warten oder aufgeben, was noch wartet: ${typed(`turnstone devices remove ${name}`)}`,
  deviceKept: (v) => `die Einträge bleiben hier${held(v)}${because(v.why)}`,
  deviceLate: (v) => `die Einträge verspäten sich${held(v)}`,
  deviceReady: () => 'bereit, noch nichts wurde übertragen',
  deviceUpToDate: (v) => `alles übertragen${held(v)}`,
  devicesInState: ({ state, count: number }) => `${count(number)} ${DEVICE_STATES[state] ?? foreign(state)}`,
  devicesAll: ({ total, states, held: waiting, lost }) =>
    `${count(total)}: ${inGerman(states)}${waiting === 0 ? '' : `; ${entries(waiting)}`}${lost === 0 ? '' : `; ${many(lost, { one: '# Eintrag ging', other: '# Einträge gingen' })} verloren, da der Datenträger keinen Platz hatte`}`,
  deviceAlert: ({ device, is }) => `Gerät ${named(device)}: ${inGerman(is)}`,
  moreBlocked: ({ count: number }) =>
    `${many(number, { one: 'Ein weiteres Gerät ist', other: '# weitere Geräte sind' })} gesperrt: ${typed('turnstone devices')} zeigt welche`,
  diskTakesNothing: ({ fault }) =>
    `der Datenträger nimmt keine Messwerte an (${named(fault)}); sie werden aus dem Arbeitsspeicher gesendet, und was dort wartet, überlebt keinen Neustart`,
  diskGivesNotAll: () =>
    'der Datenträger gibt einen Teil dessen, was wartet, nicht zurück; das wird weiter versucht, der Rest wird gesendet',
  diskHangs: ({ ms }) =>
    `der Datenträger antwortet seit ${Math.floor(ms / 60_000)} min nicht auf ein Lesen; Gespeichertes wartet, neue Messwerte werden gespeichert`,
  diskIsShort: () =>
    `der Datenträger hat weniger freien Platz als ${typed('outbox.minFree')}; die Warteschlange wächst nicht und gibt Messwerte auf, wie ${typed('outbox.whenFull')} es sagt`,
  readingsUntimed: ({ count: number }) =>
    `${many(number, { one: '# Messwert früherer Starts wartet auf seine Zeit', other: '# Messwerte früherer Starts warten auf ihre Zeit' })}: Die Uhr ging damals nicht richtig, und was bekannt ist, lässt zu viel Spielraum; ${typed('outbox.timeUncertain: send')} sendet sie markiert, ${typed('outbox.maxAge')} verwirft sie`,
  clockNotSynchronised: () => 'die Uhr ist nicht synchronisiert; Messwerte warten, bis ihre Zeit bekannt ist',
  trialWithoutUpload: () => 'noch keine Übertragung wurde bestätigt',
  trialWithoutCommands: () => 'die Abfrage von Befehlen steht noch nicht',
  trialWithoutAttributes: () => 'die Abfrage von Attributen steht noch nicht',
  trialWithoutReadings: ({ sensors, count: more }) =>
    `noch kein Messwert von ${named(sensors)}${more === 0 ? '' : ` und ${count(more)} weiteren`}`,
  restartNeeded: ({ sections }) => `Neustart nötig: Erst er übernimmt, was sich in ${named(sections)} geändert hat`,
  stateFolderSilent: () => 'im Zustandsordner wird nichts aufbewahrt: Der Datenträger antwortet nicht',
  stateFolderRefused: ({ why }) =>
    `im Zustandsordner wird nichts aufbewahrt; es wird weiter versucht: ${inGerman(why)}`,
  commandsDoNotReach: ({ why }) => `Befehle auf dieser Maschine erreichen den Agenten nicht: ${inGerman(why)}`,
  configNotTaken: ({ why }) => `die geänderte Konfiguration wird nicht übernommen: ${inGerman(why)}`,
  sensorsNotChanged: ({ why }) => `Sensoren konnten nicht geändert werden: ${inGerman(why)}`,
  sensorFails: ({ sensor, since: at, why }) =>
    `Sensor ${named(sensor)} liefert keine Messwerte${at === undefined ? '' : ` seit ${at}`}: ${inGerman(why)}`,
  noReasonGiven: () => 'kein Grund genannt',
  sensorGivesNotAll: ({ sensor, why }) => `Sensor ${named(sensor)} liefert nicht alles: ${inGerman(why)}`,
  keysMissing: ({ keys, why }) => `${named(keys)} fehlt: ${inGerman(why)}`,
  outputAtFault: ({ output, why }) => `Ausgang ${named(output)}: ${inGerman(why)}`,
  commandCalled: ({ method }) => `Die Plattform rief ${named(method)} auf.`,
  commandMoved: (v) => `Die Plattform rief ${named(v.method)} auf: ${isNow(v)}.`,
  commandPulsed: (v) => `Die Plattform rief ${named(v.method)} auf: ${isNow(v)}, für einen Impuls.`,
  commandUnderWay: ({ method, why }) => `Die Plattform rief ${named(method)} auf, und es läuft noch: ${inGerman(why)}.`,
  commandUnknown: ({ method, why }) =>
    `Die Plattform rief ${named(method)} auf, und ob etwas geschaltet wurde, ist nicht bekannt: ${inGerman(why)}.`,
  commandLate: ({ method, why }) =>
    `Die Plattform rief ${named(method)} auf, und es wurde nicht rechtzeitig fertig: ${inGerman(why)}.`,
  commandRefused: ({ method, why }) =>
    `Die Plattform rief ${named(method)} auf, und es wurde abgelehnt: ${inGerman(why)}.`,
  ruleBegan: ({ rule }) => `Die Bedingung der Regel ${named(rule)} ist erfüllt`,
  ruleEnded: ({ rule }) => `Die Bedingung der Regel ${named(rule)} ist nicht mehr erfüllt`,
  ruleHolds: ({ rule }) => `Die Bedingung der Regel ${named(rule)} ist weiterhin erfüllt`,
  ruleSets: (v) => isNow(v),
  ruleTold: ({ edge: told, moves }) => `${inGerman(told)}${moves === undefined ? '' : `; ${inGerman(moves)}`}.`,
  ruleNotMoved: (v) => `${edge(v)} wurde nicht geschaltet: ${inGerman(v.why)}.`,
  ruleNotAnswered: (v) => `${edge(v)} hat nicht geantwortet: ${inGerman(v.why)}.`,
  alarmRaised: (v) =>
    `Alarm: ${named(v.name)} ist ${value(v)}, ${limitOf(v, v.unit)}${v.label === undefined ? '' : ` (${named(v.label)})`}.`,
  alarmAcknowledged: (v) =>
    `${WHO[v.by]} hat den Alarm gesehen: ${named(v.name)}, ${named(v.limit)}${v.label === undefined ? '' : ` (${named(v.label)})`}.`,
  personMoved: (v) => `${WHO[v.by]} hat ${named(v.output)} ${DID[v.did] ?? foreign(v.did)}: ${value(v)}.`,
  personRefused: (v) => `${WHO[v.by]} wollte ${wish(v)}, und es wurde abgelehnt: ${inGerman(v.why)}.`,
  personNotAnswered: (v) => `${WHO[v.by]} wollte ${wish(v)}, und die Antwort blieb aus: ${inGerman(v.why)}.`,
  alarmOver: (v) =>
    `Der Alarm ist vorbei: ${named(v.name)} ist ${value(v)} (${named(limitOf({ above: v.above, below: v.below, equal: v.equal, limit: v.label }, v.unit))}).`,
  contactLost: ({ why }) => `Keine Verbindung zur Plattform: ${inGerman(why)}.`,
  contactReached: () => 'Die Plattform ist erreichbar.',
  contactBack: ({ ms }) => `Die Plattform ist wieder erreichbar, nach ${span(ms).replace(/Tage$/, 'Tagen')}.`,
  updateBegan: ({ title, version }) => `Das Update auf ${named(`${title} ${version}`)} hat begonnen: Es wird geladen.`,
  updateInstalling: ({ title, version }) => `Das Update auf ${named(`${title} ${version}`)} wird installiert.`,
  updateDone: ({ title, version }) => `Das Update auf ${named(`${title} ${version}`)} ist fertig und bestätigt.`,
  updateFailed: ({ title, version, why, from }) =>
    `Das Update auf ${named(`${title} ${version}`)} ist fehlgeschlagen: ${inGerman(why)}${from === undefined ? '' : `; ${named(from)} läuft weiter`}.`,
  noReasonKnown: () => 'kein Grund bekannt',
  configRead: ({ changed, restart }) =>
    `Die geänderte Konfiguration wurde gelesen: ${named(changed)}${restart === undefined ? '' : `; ein Neustart übernimmt, was sich in ${named(restart)} geändert hat`}.`,
  configRefused: ({ why }) =>
    `Die geänderte Konfiguration wird nicht übernommen, und nichts ändert sich: ${inGerman(why)}`,
  changeWaits: (v) => `${theChange(v)} wartet und geht von selbst weiter${because(v.why)}.`,
  changeReceived: (v) => `${theChange(v)} ist angekommen${because(v.why)}.`,
  changeRefused: (v) => `${theChange(v)} wurde abgelehnt${because(v.why)}.`,
  changeTrying: (v) =>
    `${theChange(v)} läuft auf Probe und geht von selbst wieder, wenn nicht alles wie zuvor arbeitet${because(v.why)}.`,
  changeKept: (v) => `${theChange(v)} wird behalten${because(v.why)}.`,
  changeReturned: (v) => `${theChange(v)} hat sich nicht bewährt, die vorige gilt wieder${because(v.why)}.`,
  settingSet: (v) => `Die Plattform hat ${typed(v.key)} auf ${value(v)} gesetzt.`,
  settingTakenBack: ({ key }) => `Die Plattform hat zurückgenommen, was sie für ${typed(key)} gesetzt hatte.`,
  clockRight: () => 'Die Uhr geht richtig.',
  clockByPlatform: () => 'Die Zeit der Plattform vertritt die Uhr, die niemand gestellt hat.',
  clockForward: ({ ms }) => `Die Uhr wurde um ${span(ms)} vorgestellt.`,
  clockBack: ({ ms }) => `Die Uhr wurde um ${span(ms)} zurückgestellt.`,
  lockoutBegan: () => 'Die Fernsteuerung ist am Gerät gesperrt: Aus der Ferne wird nichts eingeschaltet.',
  lockoutOver: () => 'Die Sperre am Gerät ist vorbei: Befehle aus der Ferne schalten wieder.',
  'link/everything': () => 'Die Leitung überträgt wieder alles.',
  'link/attributes-at-wakes': () => spares('Attribute werden in Abständen abgefragt'),
  'link/commands-at-wakes': () => spares('Befehle und Attribute kommen in Abständen'),
  'link/readings-at-wakes': () => spares('Befehle, Attribute und Messwerte gehen in Abständen, Älteres wartet'),
  'link/alarms-only': () => spares('nur Alarme werden gesendet, und kein Befehl kommt an'),
  deviceRefused: ({ device, why }) => `Die Plattform lehnt das Gerät ${named(device)} ab${because(why)}.`,
  deviceTaken: ({ device }) => `Die Plattform nimmt das Gerät ${named(device)} wieder an.`,
  deviceNew: ({ device }) => `Ein neues Gerät ist da: ${named(device)}.`,
  deviceNewIn: ({ device, slots }) => `Ein neues Gerät ist da: ${named(device)}, im Slot ${named(slots)}.`,
  deviceInNoSlot: ({ device }) => `Das Gerät ${named(device)} ist in keinem Slot mehr.`,
  startFirst: ({ version }) => `Der Agent ${version} ist gestartet; von davor ist nichts aufgezeichnet.`,
  startUpdate: ({ version, from }) => `Der Agent ${version} ist anstelle von ${from} gestartet.`,
  startPower: ({ version }) =>
    `Der Agent ${version} ist mit dieser Maschine gestartet, die ohne Herunterfahren endete: ein Stromausfall oder ein Reset.`,
  startBoot: ({ version }) =>
    `Der Agent ${version} ist mit dieser Maschine gestartet, die heruntergefahren worden war.`,
  startRestart: ({ version }) => `Der Agent ${version} ist nach seinem Ende wieder gestartet.`,
  startCrash: ({ version }) => `Der Agent ${version} ist wieder gestartet: Der Prozess davor endete unerwartet.`,
  stopRestart: ({ version }) =>
    `Der Agent ${version} wird beendet, um neu zu starten: Ein Befehl, ein Update oder eine geänderte Identität verlangt es.`,
  stopMachine: ({ version }) => `Der Agent ${version} wird beendet, da diese Maschine es verlangt.`,
  outputLimitEnded: (v) => `${isNow(v)}; die längste Einschaltdauer ist erreicht.`,
  outputContactLost: (v) => `${isNow(v)}; es gibt keine Verbindung zur Plattform.`,
  outputContactBack: (v) => `${isNow(v)}; die Verbindung ist zurück, und der Zustand ohne Verbindung ist vorbei.`,
  outputPulseEnded: (v) => `${isNow(v)}; der Impuls ist zu Ende.`,
  outputMoved: (v) => `${isNow(v)}; ${inGerman(v.cause)}.`,
  outputSafeState: (v) => `${isNow(v)}; der sichere Zustand wurde gesetzt.`,
  outputByAttribute: (v) => `Ein Attribut der Plattform hat geschaltet: ${isNow(v)}.`,
  outputSetAtStart: (v) => `${isNow(v)}; beim Start gesetzt, zuvor ${value({ ...v, value: v.from })}.`,
  outputChangedAtDevice: (v) => `${isNow(v)}; am Gerät geändert.`,
  outputAsSetAgain: (v) => `${isNow(v)}, wieder wie vorgegeben.`,
  outputFault: ({ output, why }) => `${named(output)} hat eine Störung: ${inGerman(why)}.`,
  outputFaultOver: (v) => `${isNow(v)}; die Störung ist vorbei.`,
  checkTitle: ({ check, title }) => CHECKS[check] ?? foreign(title),
  several: ({ all }) => all.map(inGerman).join('; '),
  enumerated: ({ all }) => all.map(inGerman).join(', '),
};
