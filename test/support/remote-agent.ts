/**
 * The agent's remote side as a process of its own, to be killed: real HTTP, real journal, real board socket, and nothing else of the agent.
 *
 *   node test/support/remote-agent.ts '{"platformUrl": …, "token": …, "boardSocket": …, "stateFolder": …}'
 *
 * Prints "ready" when it polls. `killAt` ends it at a named point of an RPC with a probability: by its own hand, between two instructions.
 */

import { randomUUID } from 'node:crypto';
import { writeSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { Actuators } from '../../src/actuators/actuators.ts';
import { DeviceAttributes } from '../../src/attributes/device-attributes.ts';
import { configSchema } from '../../src/config/schema/agent-config.ts';
import { openPorts } from '../../src/hardware/open-ports.ts';
import { AlertList } from '../../src/host/alert-list.ts';
import { systemClock } from '../../src/host/clock.ts';
import { systemFiles } from '../../src/host/files.ts';
import { AgentLog } from '../../src/host/log.ts';
import { runTogether } from '../../src/host/loops.ts';
import { runProgram } from '../../src/host/run-program.ts';
import { operationsOf } from '../../src/operations/operation-table.ts';
import { HttpDeviceApi } from '../../src/platform/http-device-api.ts';
import type { Checkpoint } from '../../src/rpc/rpc-executor.ts';
import { RpcService } from '../../src/rpc/rpc-service.ts';
import type { ToldStatus } from '../../src/status/shape/agent-status.ts';

export interface RemoteAgentOptions {
  readonly platformUrl: string;
  readonly token: string;
  readonly boardSocket: string;
  readonly stateFolder: string;
  /** Relays on GPIO17 and up. */
  readonly relays?: number;
  /** Probability of dying at each point. */
  readonly killAt?: Partial<Record<Checkpoint, number>>;
  readonly reconcilePeriod?: string;
  readonly pollTimeout?: string;
  readonly lockoutFile?: string;
  readonly logLevel?: 'debug' | 'info' | 'warn' | 'error';
}

const FIRST_LINE = 17;
/** Said before it ends by its own hand. */
const KILLED = 'killed ';

const options = JSON.parse(process.argv[2] ?? '{}') as RemoteAgentOptions;
const clock = systemClock;
const log = new AgentLog({
  clock,
  level: options.logLevel ?? 'error',
  sink: { write: (line) => process.stderr.write(line) },
});
const config = configSchema.parse({
  version: 1,
  platform: {
    url: options.platformUrl,
    accessToken: options.token,
    reconcilePeriod: options.reconcilePeriod ?? '5m',
    ...(options.pollTimeout === undefined ? {} : { pollTimeout: options.pollTimeout }),
  },
  stateFolder: options.stateFolder,
  runFolder: `${options.stateFolder}/run`,
  hardware: { board: 'simulated', boardSocket: options.boardSocket },
  actuators: Array.from({ length: options.relays ?? 2 }, (_, index) => ({
    name: `relay${index + 1}`,
    kind: 'gpio-output',
    line: `GPIO${FIRST_LINE + index}`,
    desiredKey: `relay${index + 1}Wish`,
    safe: { start: index === 0 ? false : undefined },
  })),
  ...(options.lockoutFile === undefined ? {} : { rpc: { lockout: { file: options.lockoutFile } } }),
});
const ports = openPorts({ clock, hardware: config.hardware });
const deviceApi = new HttpDeviceApi({ settings: { url: options.platformUrl }, token: () => options.token, clock });
const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());

const actuators = await Actuators.open(
  {
    config,
    ports,
    clock,
    files: systemFiles,
    runProgram,
    log,
    onRuleEvent: () => {},
    report: () => {},

    alerts: new AlertList(log),
    localTime: () => undefined,
  },
  stop.signal,
);
const run = randomUUID();
const common = { config: () => config, deviceApi, clock, files: systemFiles, log };
const rpc = await RpcService.open({
  ...common,
  methods: operationsOf({
    // Nothing of the agent but its actuators is asked for.
    status: {
      status: () => ({}) as ToldStatus,
      shown: (sensors) => sensors,
      diagnose: async () => ({ text: 'x'.repeat(200_000) }),
    },
    sensors: { readNow: async () => [], asSent: () => [] },
    settings: { live: { set: () => {} }, log: { level: 'info' } },
    restarts: { restart: () => stop.abort(), expectReboots: async () => {}, reboot: () => stop.abort() },
    actuators: actuators.control,
    credentials: {
      token: { offerNext: async () => {} },
      store: { read: async () => {}, saveProvisionSecret: async () => {} },
    },
  }),
  locked: () => actuators.lockout.locked,
  onContact: () => actuators.control.contact.heard(),
  checkpoint: (name) => {
    if (Math.random() >= (options.killAt?.[name] ?? 0)) return;
    writeSync(2, `${KILLED}${name}\n`);
    process.kill(process.pid, 'SIGKILL');
  },
});
const attributes = await DeviceAttributes.open(
  {
    ...common,
    slot: undefined,
    device: { id: 'self', name: '', folder: options.stateFolder, deviceApi },
    actuators,
    poll: {},
    live: { settings: () => [], overrides: {} },
    firmware: { keys: [], consider: () => {} },
    identity: () => ({ run }),
    alerts: new AlertList(log),
  },
  stop.signal,
);
// A process that is killed would keep nothing of what it compiled.
flushCompileCache();
process.stdout.write('ready\n');
await runTogether([...attributes.loops(), (signal) => rpc.run(signal)], stop.signal);
await Promise.all([rpc.close(), attributes.close()]);
await actuators.close();
await deviceApi.close();
await ports.close();
