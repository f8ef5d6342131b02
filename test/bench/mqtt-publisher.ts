/** Publishes two numbers under each of so many topics, once a second: a process of its own beside `bench:sensors`. */
import { setTimeout as pause } from 'node:timers/promises';
import { LinuxMqtt } from '../../src/hardware/linux-mqtt.ts';
import { systemClock } from '../../src/host/clock.ts';

const [, , url = '', topics = '20'] = process.argv;
const settings = { name: 'house', url, version: '5', keepAliveMs: 30_000, maxPacketBytes: 65_536 } as const;
const publisher = await new LinuxMqtt({ clock: systemClock }).open(settings, new AbortController().signal);
for (let second = 0; ; second += 1) {
  const payload = JSON.stringify({ temperature: 20 + (second % 10) / 10, humidity: 40 + (second % 20) });
  for (let topic = 0; topic < Number(topics); topic += 1)
    void publisher
      .publish({ topic: `bench/${topic}`, payload, retain: false }, AbortSignal.timeout(10_000))
      .catch(() => {});
  await pause(1_000);
}
