/**
 * Every sentence of the agent by its id, in English; the page has the same ids in German. Values come as they are: a span in ms, a time as epoch ms, a
 * state or number of a thing with its class. An id with a stroke belongs to a row of sentences, such as the faults of the contact.
 */
import type { Sentence, SentenceValue, SentenceValues, Told } from '../errors/sentence.ts';
import type { JsonValue } from '../values/json.ts';
import { formatDuration, spanWords } from './duration.ts';
import { shownText } from './shown-text.ts';

/** A value of an output or a reading, with what tells how people read it. */
interface Shown {
  readonly value: JsonValue | undefined;
  readonly class?: string | undefined;
  readonly unit?: string | undefined;
}
interface Since {
  readonly agoMs?: number | undefined;
}
interface OfRule {
  readonly rule: string;
}
interface OfOutput {
  readonly output: string;
}
interface OfSensor {
  readonly sensor: string;
}
/** A name as it can be typed. */
interface Typed {
  readonly typed: string;
}
interface OfDevice {
  readonly device: string;
}
interface OfKey {
  readonly key: string;
}
interface OfTime {
  readonly ms: number;
}
interface OfVersion {
  readonly version: string;
}
interface Called {
  readonly method: string;
}
type ShownOutput = Shown & OfOutput;
interface Reading extends Shown {
  /** Label of the reading, else its key in words. */
  readonly name: string;
}
/** Comparison of an alarm, where it is one. */
interface Limits {
  readonly above?: number | undefined;
  readonly below?: number | undefined;
  readonly equal?: boolean | number | string | undefined;
}
interface Update extends OfVersion {
  readonly title: string;
}
interface PersonWanted extends Why, Shown, OfOutput {
  readonly by: Who;
}
interface RuleRefused extends Why {
  /** Beginning or end of its condition. */
  readonly edge: Told;
  readonly output?: string | undefined;
}
interface Why {
  readonly why: Told;
}
/** A change of the configuration, and the way that it came. */
interface OfChange {
  /** First digits of the file's SHA-256; absent where it made no file. */
  readonly hash?: string | undefined;
  readonly by: keyof typeof CHANGE_FROM;
  /** Title and version of the package that it came in. */
  readonly package?: string | undefined;
  readonly why?: Told | undefined;
}
interface OnTheWay {
  /** Host, with a port that is not the scheme's own. */
  readonly host: string;
  /** Status or code. */
  readonly detail: string;
}

/** Ends of the last word of an operator. */
const ENDED_BY = {
  maxOn: 'maxOn',
  ruleChange: 'a rule that changed its mind',
  released: 'a release',
  time: 'its time',
  'no contact': 'no contact with the platform',
  'safe state': 'a safe state',
  failed: 'a failure',
} as const;

/** Doors at which a person or the platform asks. */
const WHO = {
  platform: 'The platform',
  local: 'A person at the device',
  page: 'Somebody on the page',
} as const;
type Who = keyof typeof WHO;
const CHANGE_FROM = {
  package: 'from the platform',
  patch: 'from the platform',
  page: 'from the page',
  local: 'handed over on the command line',
} as const;

const OUTPUTS = {
  outputAsItWas: () => 'as it was: nothing says what it should be',
  outputLimit: (v: Shown & Since) => `${shown(v)}, because its longest time on (maxOn) ended${ago(v)}`,
  outputRuleSet: (v: Shown & Since & OfRule) => `${shown(v)}, because rule ${v.rule} set it${ago(v)}`,
  outputRuleReleased: (v: Shown & Since & OfRule) => `${shown(v)}, because rule ${v.rule} released it${ago(v)}`,
  outputRuleLost: (v: Shown & OfRule) => `${shown(v)}, because rule ${v.rule} has lost its sensor`,
  outputPulse: (v: Shown & Since & { readonly by: string }) => `${shown(v)}, because a pulse (${v.by}) began${ago(v)}`,
  outputOperator: (v: Shown & Since & { readonly by: string; readonly leftMs?: number | undefined }) =>
    `${shown(v)}, because the operator (${v.by}) said so${ago(v)}${v.leftMs === undefined ? '' : `, for ${span(v.leftMs)} more`}`,
  outputNoContact: (v: Shown & Since) => `${shown(v)}, because contact with the platform was lost (noContact)${ago(v)}`,
  outputStart: (v: Shown) => `${shown(v)}, its state for the start`,
  outputLeft: (v: Shown & OfRule) => `${shown(v)}, as rule ${v.rule} left it`,
  outputNothing: (v: Shown) =>
    `${shown(v)}, because a pulse ended or a sensor was lost, and nothing else says what it should be`,
  outputNotYet: ({ why }: Why) => `not yet: ${english(why)}`,
  outputUnwritten: () => 'not written since the start',
  outputLastWritten: (v: Shown) => `last written ${shown(v)}, not written since the start`,
  outputUnproven: () => 'the broker took it, and nothing proves that it moved',
  outputWasAway: () => 'the device or its line was away since, and nothing proves that it still is',
  outputAtDevice: (v: Shown) => `changed at the device: ${shown(v)}`,
  operatorEnded: (v: Shown & Since & { readonly by: string; readonly end: keyof typeof ENDED_BY }) =>
    `operator's ${shown(v)} (${v.by}) ended by ${ENDED_BY[v.end]}${ago(v)}`,
  writer: ({ by }: { readonly by: string }) => by,
  // Causes, as the timeline tells them.
  causeTimeOver: () => "the time of the operator's command is over",
  causePauseOver: () => 'the pause after its longest time on is over',
  causeAttributeGone: () => 'its shared attribute was deleted',
  causeSensorLost: ({ rule }: OfRule) => `rule ${rule} has lost its sensor`,
  causeFirstReading: ({ rule }: OfRule) => `rule ${rule} has its first reading`,
  causeSensorBack: ({ rule }: OfRule) => `the sensor of rule ${rule} is back`,
  causeRuleGone: ({ rule }: OfRule) => `rule ${rule} was removed or disabled`,
  causeRuleChanged: ({ rule }: OfRule) => `rule ${rule} was changed`,
  causeRulesReordered: () => 'its rules stand in another order',
  ruleRemoved: () => 'it was removed or disabled',
  outputIs: ({ output, is }: OfOutput & { readonly is: Told }) => `${output} is ${english(is)}`,
  causePassed: () => 'what kept it from that is over',
  // Gates, and what the hardware does.
  lockedOut: ({ output }: OfOutput) => `${output} is not moved: the machine is locked out`,
  interlocked: ({ output, other, why }: OfOutput & Why & { readonly other: string }) =>
    `${output} is never on together with ${other}, and ${english(why)}`,
  hasJustGoneOff: () => 'it has just gone off',
  isActive: () => 'it is active',
  agentStops: () => 'the agent is stopping',
  heldByRule: ({ output, rule }: OfOutput & OfRule) => `${output} is held by the rule ${rule}`,
  longestTimeOver: ({ output }: OfOutput) => `${output} has had its longest time on`,
  longestTimeUnknown: ({ output }: OfOutput) => `${output} has had its longest time on, and is not known to be off`,
  tooSoon: ({ output, leftS }: OfOutput & { readonly leftS: number }) =>
    `${output} may be switched in ${leftS} s at the earliest`,
  tooManyStarts: ({ output, count }: OfOutput & { readonly count: number }) =>
    `${output} was switched on ${count} times within an hour`,
  tooManyStartsPerhaps: ({ output }: OfOutput) =>
    `${output} may have been switched on too often within an hour: what was known is lost`,
  writeUnanswered: (v: Shown) =>
    `a write of ${shown(v)} had no answer and may still arrive: it is read back until that is known`,
  notMoved: ({ output, why }: OfOutput & Why) => `${output} was not moved: ${english(why)}`,
  noAnswerWithin: ({ output, ms }: OfOutput & { readonly ms: number }) => `${output} did not answer within ${ms} ms`,
  doesNotSwitchOff: ({ output, why }: OfOutput & Why) => `${output} does not switch off: ${english(why)}`,
  noSafeState: ({ output, why }: OfOutput & Why) => `${output} has not taken its safe state: ${english(why)}`,
  noAnswerInTime: ({ what }: { readonly what: string }) => `${what}: no answer within the deadline`,
  unitOwesAnswer: ({ unitId, line }: { readonly unitId: number; readonly line: string }) =>
    `Modbus unit ${unitId} on ${line} has not answered an earlier question yet`,
  noModbusHost: ({ host }: { readonly host: string }) => `no connection to Modbus host ${host}`,
  wrongChip: (v: { readonly address: string; readonly bus: string; readonly wanted: string; readonly found: string }) =>
    `${v.address} on ${v.bus} is no ${v.wanted}: ${v.found}`,
  stateNotKnown: () => 'its state is not known',
};

const PLATFORM = {
  upToDate: () => 'up to date',
  nothingSent: ({ why }: Why) => `nothing is sent: ${english(why)}`,
  nothingAsked: ({ why }: Why) => `nothing is asked of the platform: ${english(why)}`,
  notReachedYet: () => 'the platform was not reached yet, the first try is under way',
  readingsKept: ({ why }: Partial<Why>) => `the platform is reached, and readings are kept${because(why)}`,
  readingsAtWakes: ({ day }: { readonly day: string }) =>
    `the platform is reached, and readings go at wakes, history waits ${untilSuffices(day)}`,
  alarmsOnly: ({ day }: { readonly day: string }) =>
    `the platform is reached, and all but alarms waits ${untilSuffices(day)}`,
  nothingAcknowledged: () => 'the platform is reached, and has not acknowledged anything yet',
  entriesWait: ({ count, oldestMs, why }: { readonly count: number; readonly oldestMs: number } & Partial<Why>) =>
    `the platform is reached, ${count} entries wait, the oldest for ${formatDuration(wholeSeconds(oldestMs))}${because(why)}`,
  historyTomorrow: () => 'history goes tomorrow (UTC), as link.daily is used up',
  historyForecast: () => 'history goes when the forecast of the link leaves room for it',
  clockNotRight: () => 'the clock is not known to be right yet, and readings wait for their time',
  entriesTriedLater: ({ count }: { readonly count: number }) =>
    `${count} entries that the platform did not take are tried again later`,
  uploadPortal: ({ status }: { readonly status: number }) =>
    `something between here and the platform answers in its place (status ${status}): a login page or a proxy`,
  uploadUnknown: ({ status }: { readonly status: number }) =>
    `the platform does not know this device (status ${status}): check the access token`,
  uploadNotReached: ({ why }: Why) => `the platform is not reached: ${english(why)}`,
  uploadBusy: ({ status }: { readonly status: number }) => `the platform is busy (status ${status})`,
  uploadRefused: ({ status }: { readonly status: number }) => `the platform refuses (status ${status})`,
  contactFault: ({ problem, remedy }: { readonly problem: Told; readonly remedy: Told }) =>
    `${english(problem)}; ${english(remedy)}`,
};

/** Faults of the contact with the platform: the problem, and what a person does about it. */
const CONTACT = {
  'no-network': () => 'this machine has no network',
  'no-network/remedy': () => 'check the cable, the modem or the Wi-Fi: ip address, ip route',
  'no-route': ({ host }: OnTheWay) => `there is no route to ${host}`,
  'no-route/remedy': () => 'check the gateway of this network: ip route; and the address in platform.url',
  'unknown-name': ({ host }: OnTheWay) => `no name server knows ${host}`,
  'unknown-name/remedy': () => 'check the spelling of platform.url, and the name servers in /etc/resolv.conf',
  'no-name-server': ({ host }: OnTheWay) => `no name server answers for ${host}`,
  'no-name-server/remedy': () => 'check the network, and the name servers in /etc/resolv.conf',
  'connection-refused': ({ host }: OnTheWay) => `${host} refuses connections`,
  'connection-refused/remedy': () => 'check the port in platform.url; is the platform up?',
  'no-answer': ({ host }: OnTheWay) => `${host} does not answer`,
  'no-answer/remedy': () => 'check the address in platform.url and the firewalls on the way; is the platform up?',
  'connection-broken': ({ host }: OnTheWay) => `${host} breaks off the connection`,
  'connection-broken/remedy': () =>
    'check whether platform.url needs https://, and what stands between here and the platform',
  'unknown-authority': ({ host }: OnTheWay) =>
    `the certificate of ${host} is signed by an authority that is not trusted here`,
  'unknown-authority/remedy': () => 'give the PEM file of its authority as platform.caFile',
  'wrong-name': ({ host }: OnTheWay) => `the certificate of ${host} is for another name`,
  'wrong-name/remedy': () =>
    'write the name that is in the certificate into platform.url, or have the certificate made for this one',
  expired: ({ host }: OnTheWay) => `the certificate of ${host} has expired, or this clock is wrong`,
  'expired/remedy': () => 'check this clock (timedatectl); renew the certificate on the platform',
  'not-yet-valid': ({ host }: OnTheWay) => `the certificate of ${host} is not valid yet, or this clock is wrong`,
  'not-yet-valid/remedy': () => 'set this clock: timedatectl set-ntp true',
  'no-tls': ({ host }: OnTheWay) => `${host} does not speak TLS`,
  'no-tls/remedy': () => 'write http:// into platform.url, or the port that speaks TLS',
  'https-wanted': ({ host }: OnTheWay) => `${host} redirects http to https`,
  'https-wanted/remedy': () => 'write https:// into platform.url',
  'no-device-api': ({ host }: OnTheWay) => `${host} has no device API at this address (404)`,
  'no-device-api/remedy': () => 'write scheme, host and port of the platform into platform.url, and no path',
  portal: ({ host, detail }: OnTheWay) =>
    `something between here and ${host} answers in its place (${detail}): a login page or a proxy`,
  'portal/remedy': () => 'log in with a browser in this network, or set platform.proxy; check platform.url',
  'proxy-login': () => 'the proxy wants a login (407)',
  'proxy-login/remedy': () => 'write user and password into platform.proxy',
  'proxy-refuses': ({ host, detail }: OnTheWay) => `the proxy does not let through to ${host} (${detail})`,
  'proxy-refuses/remedy': () => 'allow the platform on the proxy, or check platform.url and platform.proxy',
  'proxy-unreachable': ({ why }: Why) => english(why),
  'proxy-unreachable/remedy': () => 'check platform.proxy, or remove it where no proxy is needed',
  'token-refused': () => 'the platform does not know this device’s access token (401)',
  'token-refused/remedy': () =>
    'compare the token with the device’s credentials on the platform, or restore the device there; for another platform or tenant: turnstone identity forget --devices',
  'device-refused': ({ detail }: OnTheWay) => `the platform refuses this device (${detail})`,
  'device-refused/remedy': () => 'look at the device, its profile and the limits of its tenant on the platform',
  unavailable: ({ host, detail }: OnTheWay) => `${host} answers that the platform is not there (${detail})`,
  'unavailable/remedy': () => 'wait until the platform is up again; readings are kept',
  'other-fault': ({ host, detail }: OnTheWay) => `the connection to ${host} fails (${detail})`,
  'other-fault/remedy': () => 'turnstone doctor looks at each step of the way',
};

interface Held {
  /** Entries that wait. */
  readonly held: number;
}

/** Attached devices. */
const DEVICES = {
  deviceShared: (v: Held & { readonly other: string }) =>
    `reads the same serial number as ${v.other}${held(v)}: its entries are kept`,
  deviceSharedRemedy: () => 'give the two slots different addresses, or take one of them out of the configuration',
  deviceWaits: (v: Held & Why) => `${english(v.why)}${held(v)}`,
  deviceWaitsRemedy: () => 'take the slot out of the configuration, or fill it again',
  deviceUnidentified: (v: Held) => `its serial number is not known yet${held(v)}`,
  deviceUnidentifiedRemedy: () =>
    'see that the thing answers (turnstone sensors), and that devices.serialNumber names its register and pattern',
  deviceWithoutToken: (v: Held & Partial<Why>) =>
    `the platform has not given it a token yet${held(v)}${because(v.why)}`,
  deviceWithoutTokenRemedy: () => 'it is tried again; look at the provisioning key',
  deviceBlocked: (v: Held & Why) => `blocked${held(v)}: ${english(v.why)}`,
  tokenRefused: () => 'the platform refuses its token',
  deviceFileMissing: () => 'put the file there that its entry of devices: names',
  deviceTokenInFile: ({ typed }: Typed) =>
    `restore the device ${typed} at the platform, or correct the token that its entry of devices: holds or names and restart the ` +
    `agent; for a new token that the platform has, turnstone devices rotate ${typed}`,
  deviceBlockedRemedy: ({ typed }: Typed) =>
    `enter the token that the platform has for it (turnstone devices rotate ${typed}), or, when it was deleted there, ` +
    `turnstone devices remove ${typed}, which makes it anew if it stands in the configuration`,
  deviceGoneWhole: ({ gone }: { readonly gone: Told }) => `${english(gone)}, nothing waits`,
  deviceGone: (v: Held & Partial<Why> & { readonly gone: Told }) => `${english(v.gone)}${held(v)}${because(v.why)}`,
  goneByMove: () => 'went to another gateway',
  goneBySwap: () => 'swapped for another device',
  goneByConfig: () => 'taken out of the configuration',
  deviceGoneRemedy: ({ typed }: Typed) => `wait, or give up what it holds: turnstone devices remove ${typed}`,
  deviceKept: (v: Held & Why) => `its entries are kept${held(v)}${because(v.why)}`,
  deviceLate: (v: Held) => `its entries are late${held(v)}`,
  deviceReady: () => 'ready, nothing was delivered yet',
  deviceUpToDate: (v: Held) => `up to date${held(v)}`,
  devicesInState: ({ state, count }: { readonly state: string; readonly count: number }) => `${count} ${state}`,
  devicesAll: (v: Held & { readonly total: number; readonly states: Told; readonly lost: number }) =>
    `${v.total}: ${english(v.states)}${v.held === 0 ? '' : `; ${waiting(v.held)}`}${v.lost === 0 ? '' : `; ${counted(v.lost, 'entry was', 'entries were')} lost, as the disk had no room`}`,
  deviceAlert: ({ device, is }: { readonly device: string; readonly is: Told }) => `device ${device}: ${english(is)}`,
  moreBlocked: ({ count }: { readonly count: number }) =>
    `${counted(count, 'more device is', 'more devices are')} blocked: turnstone devices tells which`,
};

/** Things a person should know. */
const ALERTS = {
  diskTakesNothing: ({ fault }: { readonly fault: string }) =>
    `the disk does not take readings (${fault}); they are sent from memory, and what waits there is lost at a restart`,
  diskGivesNotAll: () =>
    'the disk does not give back part of what waits for delivery, which is tried again; the rest is sent',
  diskHangs: ({ ms }: { readonly ms: number }) =>
    `the disk has not come back from a read for ${Math.floor(ms / 60_000)} min; what is stored waits, new readings are stored`,
  diskIsShort: () =>
    'the disk has less free space than outbox.minFree; the outbox does not grow, and gives up readings as outbox.whenFull says',
  readingsUntimed: ({ count }: { readonly count: number }) =>
    `${count} readings of earlier starts wait for their time: the clock was not right then, and what is known leaves too much room; outbox.timeUncertain: send sends them marked, outbox.maxAge drops them`,
  clockNotSynchronised: () => 'the clock is not synchronised; readings wait until their time is known',
  trialWithoutUpload: () => 'no upload was acknowledged',
  trialWithoutCommands: () => 'the poll for commands does not stand',
  trialWithoutAttributes: () => 'the poll for attributes does not stand',
  trialWithoutReadings: ({ sensors, count }: { readonly sensors: string; readonly count: number }) =>
    `no reading of ${sensors}${count === 0 ? '' : ` and ${count} more`}`,
  restartNeeded: ({ sections }: { readonly sections: string }) =>
    `restart needed: only a restart takes up what changed in ${sections}`,
  stateFolderSilent: () => 'nothing is kept in the state folder: the disk does not answer',
  stateFolderRefused: ({ why }: Why) => `nothing is kept in the state folder, which is tried again: ${english(why)}`,
  commandsDoNotReach: ({ why }: Why) => `commands on this machine do not reach the agent: ${english(why)}`,
  configNotTaken: ({ why }: Why) => `the changed configuration is not taken up: ${english(why)}`,
  sensorsNotChanged: ({ why }: Why) => `sensors could not be changed: ${english(why)}`,
  sensorFails: ({ sensor, since, why }: Why & OfSensor & { readonly since?: string | undefined }) =>
    `sensor ${sensor} fails${since === undefined ? '' : ` since ${since}`}: ${english(why)}`,
  noReasonGiven: () => 'no reason given',
  sensorGivesNotAll: ({ sensor, why }: Why & OfSensor) => `sensor ${sensor} gives ${english(why)}`,
  keysMissing: ({ keys, why }: Why & { readonly keys: string }) => `no ${keys}: ${english(why)}`,
  outputAtFault: ({ output, why }: Why & OfOutput) => `actuator ${output}: ${english(why)}`,
};

/** Events of the timeline. */
const EVENTS = {
  commandCalled: ({ method }: Called) => `The platform called ${method}.`,
  commandMoved: (v: Called & ShownOutput) => `The platform called ${v.method}: ${isNow(v)}.`,
  commandPulsed: (v: Called & ShownOutput) => `The platform called ${v.method}: ${isNow(v)}, for a pulse.`,
  commandUnderWay: ({ method, why }: Called & Why) => `The platform called ${method}, and it goes on: ${english(why)}.`,
  commandUnknown: ({ method, why }: Called & Why) =>
    `The platform called ${method}, and it is not known whether it moved anything: ${english(why)}.`,
  commandLate: ({ method, why }: Called & Why) =>
    `The platform called ${method}, and it did not end in time: ${english(why)}.`,
  commandRefused: ({ method, why }: Called & Why) =>
    `The platform called ${method}, and it was refused: ${english(why)}.`,
  ruleBegan: ({ rule }: OfRule) => `Rule ${rule} began`,
  ruleEnded: ({ rule }: OfRule) => `Rule ${rule} ended`,
  ruleHolds: ({ rule }: OfRule) => `Rule ${rule} still holds`,
  ruleSets: (v: ShownOutput) => `it sets ${v.output} to ${shown(v)}`,
  ruleTold: ({ edge, moves }: { readonly edge: Told; readonly moves?: Told | undefined }) =>
    `${english(edge)}${because(moves)}.`,
  ruleNotMoved: ({ edge, output = 'its output', why }: RuleRefused) =>
    `${english(edge)}, and ${output} was not moved: ${english(why)}.`,
  ruleNotAnswered: ({ edge, output = 'its output', why }: RuleRefused) =>
    `${english(edge)}, and ${output} has not answered: ${english(why)}.`,
  alarmRaised: (v: Reading & { readonly limit: string; readonly label?: string | undefined } & Limits) =>
    `Alarm: ${v.name} is ${shown(v)}, ${v.limit}${v.label === undefined ? '' : ` (${v.label})`}.`,
  alarmAcknowledged: (v: {
    readonly by: Who;
    readonly name: string;
    readonly limit: string;
    readonly label?: string | undefined;
  }) => `${WHO[v.by]} acknowledged the alarm: ${v.name}, ${v.limit}${v.label === undefined ? '' : ` (${v.label})`}.`,
  personMoved: (v: ShownOutput & { readonly by: Who; readonly did: string }) =>
    `${WHO[v.by]} ${v.did} ${v.output}: it is ${shown(v)}.`,
  personRefused: (v: PersonWanted) => `${WHO[v.by]} wanted ${wish(v)}, and it was refused: ${english(v.why)}.`,
  personNotAnswered: (v: PersonWanted) =>
    `${WHO[v.by]} wanted ${wish(v)}, and the answer did not come: ${english(v.why)}.`,
  alarmOver: (v: Reading & { readonly label: string } & Limits) =>
    `The alarm is over: ${v.name} is ${shown(v)} (${v.label}).`,
  contactLost: ({ why }: Why) => `No contact with the platform: ${english(why)}.`,
  contactReached: () => 'The platform is reached.',
  contactBack: ({ ms }: OfTime) => `The platform is reached again, after ${spanWords(ms)}.`,
  updateBegan: ({ title, version }: Update) => `The update to ${title} ${version} began: it is downloaded.`,
  updateInstalling: ({ title, version }: Update) => `The update to ${title} ${version} is being installed.`,
  updateDone: ({ title, version }: Update) => `The update to ${title} ${version} is done and confirmed.`,
  updateFailed: ({ title, version, why, from }: Update & Why & { readonly from?: string | undefined }) =>
    `The update to ${title} ${version} failed: ${english(why)}${from === undefined ? '' : `; ${from} goes on`}.`,
  noReasonKnown: () => 'no reason is known',
  configRead: ({ changed, restart }: { readonly changed: string; readonly restart?: string | undefined }) =>
    `The changed configuration was read: ${changed}${restart === undefined ? '' : `; a restart takes up what changed in ${restart}`}.`,
  configRefused: ({ why }: Why) => `The changed configuration is not taken up, and nothing changes: ${english(why)}`,
  changeWaits: (v: OfChange) => `${theChange(v)} waits, and goes on by itself${because(v.why)}.`,
  changeReceived: (v: OfChange) => `${theChange(v)} was received${because(v.why)}.`,
  changeRefused: (v: OfChange) => `${theChange(v)} was refused${because(v.why)}.`,
  changeTrying: (v: OfChange) =>
    `${theChange(v)} is on trial, and goes again by itself unless all works as before${because(v.why)}.`,
  changeKept: (v: OfChange) => `${theChange(v)} is kept${because(v.why)}.`,
  changeReturned: (v: OfChange) =>
    `${theChange(v)} did not work, and the one before is in force again${because(v.why)}.`,
  settingSet: (v: OfKey & Shown) => `The platform set ${v.key} to ${shown(v)}.`,
  settingTakenBack: ({ key }: OfKey) => `The platform took back what it had set of ${key}.`,
  clockRight: () => 'The clock is right.',
  clockByPlatform: () => "The platform's dates stand in for the clock, which nobody has set.",
  clockForward: ({ ms }: OfTime) => `The clock was set forward by ${spanWords(ms)}.`,
  clockBack: ({ ms }: OfTime) => `The clock was set back by ${spanWords(ms)}.`,
  lockoutBegan: () => 'Remote control is locked out at the device: nothing is switched on from afar.',
  lockoutOver: () => 'The lockout at the device is over: commands from afar move outputs again.',
  'link/everything': () => 'The link carries everything again.',
  'link/attributes-at-wakes': () =>
    'The link spares what is left of its month: shared attributes are asked for at wakes.',
  'link/commands-at-wakes': () =>
    'The link spares what is left of its month: commands and shared attributes come at wakes.',
  'link/readings-at-wakes': () =>
    'The link spares what is left of its month: commands, shared attributes and readings go at wakes, and history waits.',
  'link/alarms-only': () => 'The link spares what is left of its month: only alarms are sent, and no command comes.',
  deviceRefused: ({ device, why }: OfDevice & Partial<Why>) =>
    `The platform refuses the device ${device}${because(why)}.`,
  deviceTaken: ({ device }: OfDevice) => `The platform takes the device ${device} again.`,
  deviceNew: ({ device }: OfDevice) => `A new device is there: ${device}.`,
  deviceNewIn: ({ device, slots }: OfDevice & { readonly slots: string }) =>
    `A new device is there: ${device}, in the slot ${slots}.`,
  deviceInNoSlot: ({ device }: OfDevice) => `The device ${device} is in no slot any more.`,
  startFirst: ({ version }: OfVersion) => `The agent ${version} started; nothing is recorded of before.`,
  startUpdate: ({ version, from }: OfVersion & { readonly from: string }) =>
    `The agent ${version} started in the place of ${from}.`,
  startPower: ({ version }: OfVersion) =>
    `The agent ${version} started with this machine, which had ended without a stop: a power cut or a reset.`,
  startBoot: ({ version }: OfVersion) => `The agent ${version} started with this machine, which had been shut down.`,
  startRestart: ({ version }: OfVersion) => `The agent ${version} started again after its stop.`,
  startCrash: ({ version }: OfVersion) =>
    `The agent ${version} started again: the process before had ended without a stop.`,
  stopRestart: ({ version }: OfVersion) =>
    `The agent ${version} stops, to start anew: a command, an update or a changed identity asked for it.`,
  stopMachine: ({ version }: OfVersion) => `The agent ${version} stops, as this machine asked for it.`,
  outputLimitEnded: (v: ShownOutput) => `${isNow(v)}: its longest time on has ended.`,
  outputContactLost: (v: ShownOutput) => `${isNow(v)}: there is no contact with the platform.`,
  outputContactBack: (v: ShownOutput) => `${isNow(v)}: contact is back, and its state without contact is over.`,
  outputPulseEnded: (v: ShownOutput) => `${isNow(v)}: its pulse has ended.`,
  outputMoved: (v: ShownOutput & { readonly cause: Told }) => `${isNow(v)}: ${english(v.cause)}.`,
  outputSafeState: (v: ShownOutput) => `${isNow(v)}: its safe state was set.`,
  outputByAttribute: (v: ShownOutput) => `A shared attribute of the platform set it: ${isNow(v)}.`,
  outputSetAtStart: (v: ShownOutput & { readonly from: JsonValue }) =>
    `${isNow(v)}: written at the start, in place of ${shown({ ...v, value: v.from })}.`,
  outputChangedAtDevice: (v: ShownOutput) => `${isNow(v)}: it was changed at the device.`,
  outputAsSetAgain: (v: ShownOutput) => `${isNow(v)} again, as it was set.`,
  outputFault: ({ output, why }: OfOutput & Why) => `${output} has a fault: ${english(why)}.`,
  outputFaultOver: (v: ShownOutput) => `${isNow(v)}: its fault is over.`,
};

/** Sentences with their values. */
export const SENTENCES = {
  ...OUTPUTS,
  ...PLATFORM,
  ...CONTACT,
  ...DEVICES,
  ...ALERTS,
  ...EVENTS,
  // Title of a check of the doctor, which has its English itself.
  checkTitle: ({ title }: { readonly check: string; readonly title: string }) => title,
  // Sentences one after the other.
  several: ({ all }: { readonly all: readonly Sentence[] }) => all.map(english).join('; '),
  enumerated: ({ all }: { readonly all: readonly Sentence[] }) => all.map(english).join(', '),
};

type SentenceId = keyof typeof SENTENCES;
type ValuesOf<Id extends SentenceId> = Parameters<(typeof SENTENCES)[Id]> extends readonly [infer V] ? V : undefined;

/** A sentence with the values that its id asks for. */
export function sentence<Id extends SentenceId>(
  id: Id,
  ...[values]: ValuesOf<Id> extends undefined ? [] : [values: ValuesOf<Id>]
): Sentence {
  return { id, values: (values ?? {}) as SentenceValues };
}

/** A door's way to make words of what is told. */
export type Say = (told: Told) => string;

/** Returns what is told in English. */
export function english(told: Told): string {
  if (typeof told === 'string') return told;
  const make = (SENTENCES as Readonly<Record<string, (values: never) => string>>)[told.id];
  return make === undefined ? told.id : make(told.values as never);
}

/** Returns a sentence with its English, as an event of the timeline has them. */
export function toldAs(told: Sentence): { readonly words: string; readonly sentence: Sentence } {
  return { words: english(told), sentence: told };
}

/** Names of rules and outputs as people call them, and the class of the values. */
export interface Labels {
  readonly rule?: (name: string) => string | undefined;
  readonly output?: (name: string) => string | undefined;
  readonly class?: string | undefined;
}

/** Returns a sentence with labels in the place of names, in what it is made of as well. */
export function labelled(told: Sentence, labels: Labels): Sentence {
  const values = Object.entries(told.values).map(([name, value]) => [name, labelledValue(name, value, labels)]);
  const hasClass = 'value' in told.values && !('class' in told.values) && labels.class !== undefined;
  return { id: told.id, values: Object.fromEntries(hasClass ? [...values, ['class', labels.class]] : values) };
}

function labelledValue(name: string, value: SentenceValue | undefined, labels: Labels): SentenceValue | undefined {
  if (typeof value === 'string') {
    if (name === 'rule') return labels.rule?.(value) ?? value;
    return name === 'output' || name === 'other' ? (labels.output?.(value) ?? value) : value;
  }
  if (Array.isArray(value)) return value.map((one: SentenceValue) => labelledValue(name, one, labels) ?? null);
  return isSentence(value) ? labelled(value, labels) : value;
}

export function isSentence(value: unknown): value is Sentence {
  return typeof value === 'object' && value !== null && 'id' in value && 'values' in value;
}

/** A value of an alarm has the digits that tell it from its limit. */
function shown({ value = null, class: kind, unit, above, below }: Shown & Pick<Limits, 'above' | 'below'>): string {
  return shownText(value, { class: kind, unit, above, below });
}

function wish(v: PersonWanted): string {
  return v.value === undefined ? v.output : `${v.output} to be ${shown(v)}`;
}

function isNow(v: ShownOutput): string {
  return `${v.output} is ${shown(v)}`;
}

function theChange({ hash, by, package: name }: OfChange): string {
  const which = hash === undefined ? 'A change of the configuration' : `The configuration ${hash}`;
  return `${which} ${CHANGE_FROM[by]}${name === undefined ? '' : `, in the package ${name},`}`;
}

function ago({ agoMs }: Since): string {
  return agoMs === undefined ? '' : ` ${span(agoMs)} ago`;
}

function because(why: Told | undefined): string {
  return why === undefined ? '' : `: ${english(why)}`;
}

function held(v: Held): string {
  return v.held === 0 ? '' : `, ${waiting(v.held)}`;
}

function waiting(entries: number): string {
  return counted(entries, 'entry waits', 'entries wait');
}

function counted(number: number, one: string, many: string): string {
  return `${number} ${number === 1 ? one : many}`;
}

function untilSuffices(day: string): string {
  return `for the month of the link, until ${day} or until it suffices again`;
}

/** Returns a time in its largest unit, or two: seconds up to two minutes, minutes up to two hours. */
function span(ms: number): string {
  const s = Math.max(0, Math.round(ms / 1_000));
  if (s < 120) return `${s} s`;
  return s < 7_200 ? `${Math.floor(s / 60)} min` : formatDuration(Math.floor(s / 60) * 60_000);
}

function wholeSeconds(ms: number): number {
  return Math.round(ms / 1_000) * 1_000;
}
