/** Hardware: no pin, address, port or channel is claimed twice. */

import { placesOf } from '../../kinds/actuator-kinds.ts';
import { getOrInsert } from '../../values/get-or-insert.ts';
import { likelySameLine, lineIdentity } from '../fields/addresses.ts';
import { type ConfigPath, pathText } from '../fields/config-fault.ts';
import { type Finding, finding, repeated } from '../fields/findings.ts';
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

/** Those who ask in turns share a line, Modbus units, M-Bus meters and meters of IEC 62056-21, when they agree on how it speaks; nobody else shares one. */
export const checkSharedLines: Check = (draft) => {
  const firstOf = new Map<string, LineUser>();
  return devices(draft).flatMap((device) => {
    const user = lineUser(device);
    if (user === undefined) return [];
    const first = getOrInsert(firstOf, user.line, () => user);
    const other = pathText(first.path.slice(0, 2));
    if (first.speaks !== user.speaks)
      return [finding(user.path, 'line used twice, in different ways:', `a line of its own; ${other} uses it already`)];
    const expected = first.settings.filter((setting) => !user.settings.includes(setting)).join(', ');
    return expected === ''
      ? []
      : [finding(user.path, 'line used twice, with different settings:', `${expected}, as ${other} has`)];
  });
};

function lineUser({ config, path }: ReturnType<typeof devices>[number]): LineUser | undefined {
  if ('port' in config)
    return config.kind === 'mbus' || (config.kind === 'iec62056' && config.mode !== 'D')
      ? {
          line: config.port,
          speaks: config.kind === 'mbus' ? 'M-Bus' : 'IEC 62056-21',
          settings: serialSettings(config),
          path: [...path, 'port'],
        }
      : { line: config.port, speaks: pathText(path), settings: [], path: [...path, 'port'] };
  if (!('connection' in config)) return undefined;
  const { connection } = config;
  const at = [...path, 'connection', isHost(connection) ? 'host' : 'port'];
  return { line: modbusLine(connection), speaks: 'Modbus', settings: modbusSettings(connection), path: at };
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
