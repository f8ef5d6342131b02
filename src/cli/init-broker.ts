/** Devices at a broker on this machine, for a first configuration. What it refuses is told, and left out. */
import { messageOf } from '../errors/agent-error.ts';
import { LinuxMqtt } from '../hardware/linux-mqtt.ts';
import { systemClock } from '../host/clock.ts';
import { printable } from '../names/printable.ts';
import { listenAtBroker, proposalsFrom } from '../scan/mqtt-devices.ts';
import type { Edge } from './edge.ts';
import type { AtBroker } from './first-config.ts';
import { mqttOutputLines, mqttSensorLines, slotsOf } from './scan-mqtt.ts';

/** Retained messages come at once, and most of the others within some seconds. */
const LISTEN_MS = 3_000;
const NAME = 'house';

export async function devicesAtBroker(port: number, edge: Edge): Promise<AtBroker | undefined> {
  const url = port === 1_883 ? 'mqtt://localhost' : `mqtt://localhost:${port}`;
  const settings = { name: NAME, url, version: '5', keepAliveMs: 30_000, maxPacketBytes: 2_000_000 } as const;
  const mqtt = new LinuxMqtt({ clock: systemClock });
  try {
    const { messages } = await listenAtBroker(
      { mqtt, clock: systemClock },
      { settings, forMs: LISTEN_MS },
      edge.signal,
    );
    return {
      broker: `{ name: ${NAME}, url: "${url}" }`,
      propose: (names, hasDevices) => {
        const found = proposalsFrom(messages, { broker: NAME, names, hasDevices });
        const slots = hasDevices ? slotsOf(found) : [];
        return { sensors: mqttSensorLines(found), outputs: mqttOutputLines(found), slots };
      },
    };
  } catch (error) {
    edge.signal.throwIfAborted();
    const why = printable(messageOf(error));
    edge.stderr.write(`  ${why}; later: turnstone scan mqtt --broker ${url} --user NAME\n`);
    return undefined;
  } finally {
    await mqtt.close();
  }
}
