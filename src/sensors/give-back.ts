/** Ends an opened sensor: each part by itself, as a driver of a user's own may fail in any of them. */
import { messageOf } from '../errors.ts';
import type { Log } from '../host/log.ts';
import type { Sensor } from './sensor.ts';

/** Takes as long as the driver does; never rejects. */
export async function giveBack(sensor: Sensor, unsubscribe: () => void, log: Log): Promise<void> {
  for (const end of [unsubscribe, () => sensor.close()]) {
    try {
      await end();
    } catch (error) {
      log.debug({ sensor: sensor.name, reason: messageOf(error) }, 'closing failed');
    }
  }
}
