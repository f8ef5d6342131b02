/** `turnstone scan mqtt`: listens at a broker to devices that announce themselves, and shows sections for the configuration. */
import { DEFAULT_CONFIG_FILE } from '../config/fields/default-places.ts';
import { peekBrokers } from '../config/peek-brokers.ts';
import { brokerSchema } from '../config/schema/brokers.ts';
import { messageOf } from '../errors/agent-error.ts';
import type { MqttBrokerSettings, MqttPort } from '../hardware/mqtt-port.ts';
import { type Clock, systemClock } from '../host/clock.ts';
import { printable } from '../names/printable.ts';
import { FreeNames } from '../scan/free-names.ts';
import { listenAtBroker, type ProposedDevice, proposalsFrom } from '../scan/mqtt-devices.ts';
import { brokersOf } from '../sensors/mqtt/brokers.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../values/json.ts';
import type { ScanCall } from './commands/init.ts';
import { CommandError, usageError } from './exit-code.ts';
import { type Slot, slotLines } from './first-config.ts';
import { amountsOf, withProgress } from './progress.ts';
import { secretFrom } from './secret-from.ts';

const MAX_LISTEN_MS = 600_000;
const PROGRESS_EVERY_MS = 500;
/** Name of a broker that is given by its URL. */
const NAME = 'house';

export async function scanMqtt(call: ScanCall, mqtt: MqttPort, clock: Clock = systemClock): Promise<void> {
  const { flags, edge, print } = call;
  const { settings, section } = await brokerFor(call);
  const forMs = Math.min(flags.for, MAX_LISTEN_MS);
  const { messages, isCut } = await withProgress(edge.stderr, settings.name, async (progress) => {
    const startedAtMs = clock.monotonicMs();
    const timer = setInterval(() => {
      const done = Math.min(forMs, clock.monotonicMs() - startedAtMs);
      progress.update(Math.round(done / 1_000), Math.round(forMs / 1_000), amountsOf('s'));
    }, PROGRESS_EVERY_MS);
    try {
      return await listenAtBroker({ mqtt, clock }, { settings, forMs }, edge.signal);
    } finally {
      clearInterval(timer);
    }
  });
  if (isCut) edge.stderr.write('more is said there than is listened to: what is shown is a part\n');
  const hasDevices = flags.devices === true;
  const found = proposalsFrom(messages, { broker: settings.name, names: new FreeNames(), hasDevices });
  if (found.length > 0 || flags.json === true)
    return print.result(found, () => {
      const slots = hasDevices ? slotsOf(found) : [];
      const brokers = section === undefined ? '' : `brokers:\n  - ${sectionText(section)}\n`;
      return `${slotLines(slots)}${brokers}${mqttLines(found)}`;
    });
  edge.stderr.write(
    'nothing announced itself; some devices do when they are switched on, or every few minutes: try --for 2m\n',
  );
}

/** Sections of what was found. */
export function mqttLines(found: readonly ProposedDevice[]): string {
  const outputs = mqttOutputLines(found);
  const hasSensors = found.some(({ sensors }) => sensors.length > 0);
  return `sensors:${hasSensors ? '' : ' []'}\n${mqttSensorLines(found)}${outputs === '' ? '' : `actuators:\n${outputs}`}`;
}

/** Devices of the platform that have sections. */
export function slotsOf(found: readonly ProposedDevice[]): readonly Slot[] {
  return found
    .filter(({ sensors, outputs }) => sensors.length + outputs.length > 0)
    .map(({ slot }) => ({ name: slot, keys: [] }));
}

/** Entries of `sensors:`, and comments on what is left out. */
export function mqttSensorLines(found: readonly ProposedDevice[]): string {
  return `${linesOf(found, ({ sensors }) => sensors)}${found.map(leftOutLines).join('')}`;
}

function leftOutLines({ name, leftOut }: ProposedDevice): string {
  return leftOut
    .map(({ topic, key, template }) => {
      const words = `${name}: ${key} at ${topic} is left out, as its template is not understood: ${template}`;
      return `  # ${printable(words)}\n`;
    })
    .join('');
}

/** Entries of `actuators:`. */
export function mqttOutputLines(found: readonly ProposedDevice[]): string {
  return linesOf(found, ({ outputs }) => outputs);
}

function linesOf(
  found: readonly ProposedDevice[],
  sectionsOf: (device: ProposedDevice) => readonly JsonObject[],
): string {
  return found
    .flatMap((device) => sectionsOf(device).map((one) => `${heading(device)}  - ${sectionText(one)}\n`))
    .join('');
}

function heading({ family, name, model }: ProposedDevice): string {
  return `  # ${printable(`${name}${model === undefined ? '' : ` (${model})`}, by ${family}`)}\n`;
}

/** A section in a flow of YAML, with its texts as texts. */
function sectionText(section: JsonObject): string {
  const members = Object.entries(section).flatMap(([key, value]) =>
    value === undefined ? [] : [`${textOf(key)}: ${valueText(value)}`],
  );
  return `{ ${members.join(', ')} }`;
}

function valueText(value: JsonValue): string {
  if (isJsonObject(value)) return sectionText(value);
  if (Array.isArray(value)) return `[${value.map(valueText).join(', ')}]`;
  return typeof value === 'string' ? textOf(value) : String(value);
}

/** JSON's quotes are YAML's; a word that YAML may take for something else has them, and a dollar is doubled. */
function textOf(text: string): string {
  const isPlain = /^[A-Za-z][\w./-]*$/.test(text) && !/^(?:true|false|null|yes|no|nan|inf)$/i.test(text);
  return isPlain ? text : JSON.stringify(text.replaceAll('${', '$${'));
}

/** The broker that is asked, and its section where the configuration has none. */
async function brokerFor({ flags, edge }: ScanCall): Promise<{
  readonly settings: MqttBrokerSettings;
  readonly section: JsonObject | undefined;
}> {
  const { broker } = flags;
  if (broker === undefined)
    throw usageError('the broker is missing', { nextStep: 'give --broker mqtt://host, or a name under brokers:' });
  if (!broker.includes('://')) {
    const file = flags.config ?? DEFAULT_CONFIG_FILE;
    const brokers = await peekBrokers(file, edge.environment).catch((error: unknown) => {
      throw new CommandError(messageOf(error), { nextStep: 'give --config, or --broker mqtt://host' });
    });
    const found = await brokersOf({ brokers })(broker);
    if (found === undefined) throw usageError(`${file} has no broker of that name`);
    return { settings: found, section: undefined };
  }
  const { user } = flags;
  const told = { name: NAME, url: broker, ...(user === undefined ? {} : { user }) };
  const { MQTT_PASSWORD: variable } = edge.environment;
  const password =
    user === undefined
      ? undefined
      : ((flags.passwordFile === undefined ? variable : undefined) ??
        (await secretFrom(flags.passwordFile, `Password of ${printable(user)} at the broker: `, edge)));
  const { data } = brokerSchema.safeParse({ ...told, ...(password === undefined ? {} : { password }) });
  // A URL with a password in it is not shown.
  if (data === undefined)
    throw usageError('that is no address of a broker', {
      nextStep: 'mqtt://host or mqtts://host, without user and password: give --user, and the password when asked',
    });
  const settings = await brokersOf({ brokers: [data] })(NAME);
  if (settings === undefined) throw usageError('that is no broker');
  const section = user === undefined ? told : { ...told, passwordFile: '/etc/turnstone/mqtt-password' };
  return { settings, section };
}
