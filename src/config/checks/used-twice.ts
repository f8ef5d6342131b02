/** Hardware: no pin, address, port or channel is claimed twice. */

import { placesOf } from '../../kinds/actuator-kinds.ts';
import { getOrInsert } from '../../values/get-or-insert.ts';
import { likelySameLine, lineIdentity } from '../fields/addresses.ts';
import { type ConfigPath, pathText } from '../fields/config-fault.ts';
import { type Finding, finding, findingAtKey, noEffect, repeated } from '../fields/findings.ts';
import { isHost, modbusLine, modbusSettings, serialSettings } from '../fields/line-agreement.ts';
import type { ActuatorConfig, SensorConfig } from '../schema/agent-config.ts';
import type { Check, ConfigDraft } from './draft.ts';

/** Hardware that can have one user only, as people read it. */
interface Claim {
  readonly what: string;
  readonly path: ConfigPath;
}

export const checkLines: Check = (draft) => {
  const lockout = draft.sections.rpc?.lockout.line;
  const users = devices(draft).flatMap(({ config, path }) =>
    'line' in config ? [{ line: config.line, path: [...path, 'line'] }] : [],
  );
  if (lockout !== undefined) users.push({ line: lockout, path: ['rpc', 'lockout', 'line'] });
  const claims = users.map(({ line, path }) => ({ what: lineIdentity(line), path }));
  const byIdentity = new Map(claims.map((claim) => [claim.what, claim]));
  // The kernel numbers its chips: on some boards the first one is another than the pin header's.
  const likely = users.flatMap(({ line, path }) => {
    const other = byIdentity.get(likelySameLine(line) ?? '');
    if (other === undefined) return [];
    return [
      finding(path, `on most boards ${other.what}:`, `a line of its own; ${pathText(other.path)} has it already`, {
        value: lineIdentity(line),
        warning: true,
      }),
    ];
  });
  return [...twice(claims, 'two users of one GPIO line', 'a line of its own'), ...likely];
};

export const checkBuses: Check = (draft) => {
  const chips = devices(draft).flatMap(({ config, path }) =>
    'bus' in config
      ? [{ what: `0x${config.address.toString(16)} on bus ${config.bus}`, path: [...path, 'address'] }]
      : [],
  );
  const channels = draft.actuators.flatMap(({ config, path }) => {
    const { chip, channel } = placesOf(config);
    return channel === undefined ? [] : [{ what: `pwmchip${chip} channel ${channel}`, path: [...path, 'channel'] }];
  });
  return [
    ...twice(chips, 'two sensors at one I2C address:', 'an address of its own'),
    ...twice(channels, 'two actuators on one PWM channel:', 'a channel of its own'),
  ];
};

/** One user of a serial line or a connection, and how it speaks there. */
interface LineUser {
  readonly line: string;
  /** Settings that all who speak so have in common; no two others do. */
  readonly speaks: string;
  readonly settings: readonly string[];
  readonly path: ConfigPath;
}

/**
 * Those who ask in turns share a line when they agree on how it speaks: Modbus units, M-Bus meters, meters of IEC 62056-21, and sensors and outputs that send texts or
 * bytes of their own. A device that speaks by itself shares no line, nor do two protocols.
 */
export const checkSharedLines: Check = (draft) => {
  const firstOf = new Map<string, LineUser>();
  return devices(draft).flatMap((device) => {
    const user = lineUser(device);
    if (user === undefined) return [];
    const first = getOrInsert(firstOf, user.line, () => user);
    const other = pathText(first.path.slice(0, 2));
    if (first.speaks !== user.speaks)
      return [
        finding(user.path, 'line used twice, in different ways:', `a line of its own; ${other} uses it already`, {
          hint: 'those share a line who ask in one way: Modbus units, M-Bus meters, or serial-line with request and serial-write',
        }),
      ];
    const expected = first.settings.filter((setting) => !user.settings.includes(setting)).join(', ');
    return expected === ''
      ? []
      : [finding(user.path, 'line used twice, with different settings:', `${expected}, as ${other} has`)];
  });
};

function lineUser({ config, path }: ReturnType<typeof devices>[number]): LineUser | undefined {
  if ('port' in config) {
    const speaks = protocolOf(config) ?? pathText(path);
    return { line: config.port, speaks, settings: serialSettings(config), path: [...path, 'port'] };
  }
  if (!('connection' in config)) return undefined;
  const { connection } = config;
  const at = [...path, 'connection', isHost(connection) ? 'host' : 'port'];
  return { line: modbusLine(connection), speaks: 'Modbus', settings: modbusSettings(connection), path: at };
}

/** Names of lines stand once, no port has two, and the settings of RS-485 are those of a UART of this machine. */
export const checkNamedLines: Check = (draft) => {
  const { lines = [] } = draft.sections;
  const at = (index: number): ConfigPath => ['lines', index];
  const named = lines.map(({ name }, index) => ({ what: name, path: [...at(index), 'name'] }));
  const ports = lines.map(({ port }, index) => ({ what: port, path: [...at(index), 'port'] }));
  const ofServers = lines.flatMap(({ port, rs485 }, index) =>
    rs485 !== undefined && port.startsWith('tcp:')
      ? [noEffect(at(index), 'rs485', 'a port of this machine; a device server has settings of its own')]
      : [],
  );
  return [
    ...twice(named, 'two lines of one name:', 'a name of its own'),
    ...twice(ports, 'two lines on one port:', 'a port of its own'),
    ...ofServers,
  ];
};

/** Names of brokers stand once, and what is for TLS stands where TLS is spoken. */
export const checkBrokers: Check = ({ sections: { brokers = [] } }) => {
  const at = (index: number): ConfigPath => ['brokers', index];
  const named = brokers.map(({ name }, index) => ({ what: name, path: [...at(index), 'name'] }));
  const findings = brokers.flatMap((broker, index): Finding[] => {
    const { url, user, password, clientCertificateFile, clientKeyFile } = broker;
    const ofTls = ['caFile', 'clientCertificateFile', 'clientKeyFile', 'serverName'] as const;
    const isAlone = (clientCertificateFile === undefined) !== (clientKeyFile === undefined);
    return [
      ...(url.startsWith('mqtt:') ? ofTls : [])
        .filter((option) => broker[option] !== undefined)
        .map((option) => noEffect(at(index), option, 'a url beginning with mqtts://')),
      ...(password !== undefined && user === undefined ? [noEffect(at(index), 'password', 'user: beside it')] : []),
      ...(isAlone ? [findingAtKey(at(index), 'one without the other', 'clientCertificateFile and clientKeyFile')] : []),
    ];
  });
  return [...twice(named, 'two brokers of one name:', 'a name of its own'), ...findings];
};

/** Protocol in which several users ask in turns; undefined for a device that must be alone. */
function protocolOf(config: SensorConfig | ActuatorConfig): string | undefined {
  if (config.kind === 'mbus') return 'M-Bus';
  if (config.kind === 'iec62056') return config.mode === 'D' ? undefined : 'IEC 62056-21';
  if (config.kind === 'pylontech') return 'Pylontech';
  if (config.kind === 'serial-write') return 'texts';
  const isAsked = config.kind === 'serial-line' && (config.request !== undefined || config.requestHex !== undefined);
  return isAsked ? 'texts' : undefined;
}

export const checkBoard: Check = ({ sections: { hardware } }) => {
  if (hardware?.board !== 'simulated' || hardware.boardSocket !== undefined) return [];
  const hint = 'turnstone run --simulate brings a board of its own';
  return [finding(['hardware', 'board'], 'no socket for', 'boardSocket: beside it', { hint })];
};

/** Sysfs has no way to switch pull resistors (kernel documentation, "GPIO Sysfs Interface"). */
export const checkBias: Check = ({ sensors, sections }) => {
  if (sections.hardware?.gpio !== 'sysfs') return [];
  const biased = sensors.filter(({ config }) => 'bias' in config && config.bias !== 'as-is');
  const expected = 'as-is, or hardware.gpio: character-device';
  return biased.map(({ path }) => finding([...path, 'bias'], 'not possible with gpio: sysfs:', expected));
};

function devices({
  sensors,
  actuators,
}: ConfigDraft): readonly { readonly config: SensorConfig | ActuatorConfig; readonly path: ConfigPath }[] {
  return [...sensors, ...actuators];
}

function twice(claims: readonly Claim[], problem: string, expected: string): Finding[] {
  return repeated(
    claims,
    ({ what }) => what,
    ({ what, path }, first) => {
      const user = pathText(first.path[0] === 'rpc' ? first.path : first.path.slice(0, 2));
      return finding(path, problem, `${expected}; ${user} has it already`, { value: what });
    },
  );
}
