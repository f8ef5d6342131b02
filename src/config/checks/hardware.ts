/** Hardware: no pin, address, port or channel is claimed twice. */
import type { ActuatorConfig, GpioLineConfig, ModbusConnectionConfig, SensorConfig } from '../agent-config.ts';
import { type ConfigPath, pathText } from '../config-fault.ts';
import { repeated } from '../fields/findings.ts';
import { lineLabel } from '../fields/lines-and-ports.ts';
import type { Check, ConfigDraft } from './draft.ts';

interface Claim {
  readonly identity: string;
  readonly item: string;
  readonly path: ConfigPath;
}

export const checkLines: Check = (draft) => {
  const lockout = draft.sections.rpc?.lockout.line;
  const claims = [
    ...devices(draft).flatMap(({ config, path }) => ('line' in config ? [lineClaim(config.line, [...path, 'line'])] : [])),
    ...(lockout === undefined ? [] : [lineClaim(lockout, ['rpc', 'lockout', 'line'])]),
  ];
  return twice(claims, 'two users of one GPIO line', 'a line of its own');
};

export const checkBuses: Check = (draft) => {
  const i2c = devices(draft).flatMap(({ config, path }) =>
    'bus' in config && 'address' in config
      ? [
          {
            identity: `${config.bus}/${config.address}`,
            item: `0x${config.address.toString(16)} on bus ${config.bus}`,
            path: [...path, 'address'],
          },
        ]
      : [],
  );
  const pwm = devices(draft).flatMap(({ config, path }) =>
    'channel' in config
      ? [
          {
            identity: `${config.chip}/${config.channel}`,
            item: `pwmchip${config.chip} channel ${config.channel}`,
            path: [...path, 'channel'],
          },
        ]
      : [],
  );
  return [
    ...twice(i2c, 'two sensors at one I2C address:', 'an address of its own'),
    ...twice(pwm, 'two actuators on one PWM channel:', 'a channel of its own'),
  ];
};

/** Modbus users share a port when they agree on how it speaks; nobody else shares one. */
export const checkSerialPorts: Check = (draft) => {
  const users = devices(draft).flatMap(({ config, path }) => {
    if ('connection' in config) {
      return config.connection.transport === 'rtu'
        ? [{ port: config.connection.port, speaks: framing(config.connection), path: [...path, 'connection', 'port'] }]
        : [];
    }
    return 'port' in config ? [{ port: config.port, speaks: pathText(path), path: [...path, 'port'] }] : [];
  });
  return users.flatMap((user, index) => {
    const first = users.slice(0, index).find(({ port, speaks }) => port === user.port && speaks !== user.speaks);
    if (first === undefined) return [];
    return [
      {
        path: user.path,
        problem: 'serial port used twice, in different ways:',
        expected: `a port of its own; ${pathText(first.path.slice(0, 2))} uses it already`,
      },
    ];
  });
};

export const checkBoard: Check = ({ sections: { hardware } }) =>
  hardware?.board === 'simulated' && hardware.boardSocket === undefined
    ? [
        {
          path: ['hardware', 'board'],
          problem: 'no socket for',
          expected: 'boardSocket: beside it',
          hint: 'turnstone run --simulate brings a board of its own',
        },
      ]
    : [];

/** Sysfs has no way to switch pull resistors (kernel documentation, "GPIO Sysfs Interface"). */
export const checkBias: Check = ({ sensors, sections }) => {
  if (sections.hardware?.gpio !== 'sysfs') return [];
  return sensors.flatMap(({ config, path }) =>
    'bias' in config && config.bias !== 'as-is'
      ? [{ path: [...path, 'bias'], problem: 'not possible with gpio: sysfs:', expected: 'as-is, or hardware.gpio: character-device' }]
      : [],
  );
};

function devices({
  sensors,
  actuators,
}: ConfigDraft): readonly { readonly config: SensorConfig | ActuatorConfig; readonly path: ConfigPath }[] {
  return [...sensors, ...actuators];
}

function lineClaim(line: GpioLineConfig, path: ConfigPath): Claim {
  return { identity: lineLabel(line), item: lineLabel(line), path };
}

function framing(connection: Extract<ModbusConnectionConfig, { transport: 'rtu' }>): string {
  return `modbus ${connection.baudRate} ${connection.dataBits}${connection.parity}${connection.stopBits}`;
}

function twice(claims: readonly Claim[], problem: string, expected: string) {
  return repeated(claims, (again, first) => ({
    problem,
    value: again.item,
    expected: `${expected}; ${pathText(first.path[0] === 'rpc' ? first.path : first.path.slice(0, 2))} has it already`,
  }));
}
