/**
 * The driver's side: the process edge of one driver of a user's own. It gives the driver what the agent has of it, and ends with the agent, or with
 * the first fault that the driver does not handle: nobody knows what that left undone.
 */
import { Socket } from 'node:net';
import { pathToFileURL } from 'node:url';
import { messageOf } from '../../errors/agent-error.ts';
import { systemClock } from '../../host/clock.ts';
import { JsonLink } from '../../host/json-link.ts';
import { expectSafeCode } from '../../host/user-code.ts';
import type { ModuleContext, ModuleSensor, OpenModuleSensor } from './driver.ts';
import { Peer } from './peer.ts';

const LINK = 3;
const MAX_MESSAGE_BYTES = 1024 * 1024;
const ROOMS = ['gpio', 'i2c', 'serial', 'oneWire', 'pwm', 'modbus'] as const;
const LEVELS = ['debug', 'info', 'warn', 'error'] as const;

const link = new JsonLink(new Socket({ fd: LINK, readable: true, writable: true }), MAX_MESSAGE_BYTES);
let sensor: ModuleSensor | undefined;
let endSubscription = (): void => {};

const driver = {
  open: async (
    file: string,
    given: Pick<ModuleContext, 'name' | 'options'>,
    ports: Readonly<Record<string, readonly string[]>>,
    signal: AbortSignal,
  ) => {
    const open = await loadDriver(file);
    const rooms = ROOMS.map((room) => [
      room,
      Object.fromEntries((ports[room] ?? []).map((method) => [method, peer.method(room, method)])),
    ]);
    const log = Object.fromEntries(
      LEVELS.map((level) => [level, (...words: unknown[]) => void peer.call('log', level, words).catch(() => {})]),
    );
    const context = {
      ...given,
      ports: Object.fromEntries(rooms),
      clock: systemClock,
      log,
      clientRpc: peer.method('platform', 'clientRpc'),
    };
    // Its rooms and its log are stubs by name, which no type knows.
    sensor = await open(context as unknown as ModuleContext, signal);
    return { speaksByItself: sensor.speaksByItself, subscribes: sensor.subscribe !== undefined };
  },
  read: async (signal: AbortSignal) => await sensor?.read(signal),
  subscribe: (listener: (readings: unknown) => void) => {
    endSubscription = sensor?.subscribe?.(listener) ?? (() => {});
  },
  unsubscribe: () => endSubscription(),
  close: async () => await sensor?.close?.(),
  ping: () => {},
};
const peer = new Peer(link, { driver });

for (const event of ['uncaughtException', 'unhandledRejection'] as const)
  process.on(event, (fault: unknown) => {
    const words = fault instanceof Error ? (fault.stack ?? fault.message) : String(fault);
    // The answer is the agent's word that it has heard.
    void peer
      .call('owner', 'stray', [messageOf(fault), words])
      .catch(() => {})
      .finally(() => process.exit(1));
  });
await peer.ended;
process.exit(0);

async function loadDriver(file: string): Promise<OpenModuleSensor> {
  await expectSafeCode(file);
  const { openSensor } = (await import(pathToFileURL(file).href)) as { readonly openSensor?: unknown };
  if (typeof openSensor !== 'function') throw new Error('it exports no function openSensor');
  return openSensor as OpenModuleSensor;
}
