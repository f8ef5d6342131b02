/** Technician who changes the configuration, rightly or not; in the end it is as it was. */
import { ConfigError } from '../../../src/config/fields/config-fault.ts';
import { lasting, MINUTE_MS, type Stroke, type Trouble } from './stroke.ts';

/** A reload has read the file by then. */
const READ_WITHIN_MS = 500;

export const TECHNICIAN_TROUBLES: readonly Trouble[] = [
  { name: 'sensor removed', weight: 1, befall: sensorRemoved },
  { name: 'periods changed', weight: 1, befall: periodsChanged },
  { name: 'wrong configuration', weight: 1, befall: wrongConfiguration },
  { name: 'setting by attribute', weight: 1, befall: settingByAttribute },
];

function sensorRemoved(stroke: Stroke): void {
  const { world, chance } = stroke;
  const { name } = chance.pick(world.site.config.sensors);
  lasting(stroke, `a technician takes the sensor ${name} out`, 20 * MINUTE_MS, () =>
    world.reconfigure((config) => ({ ...config, sensors: config.sensors.filter((sensor) => sensor.name !== name) })),
  );
}

function periodsChanged(stroke: Stroke): void {
  const { world, chance } = stroke;
  const factor = chance.pick([0.5, 2, 3]);
  lasting(stroke, `a technician multiplies every period by ${factor}`, 20 * MINUTE_MS, () =>
    world.reconfigure((config) => ({
      ...config,
      sensors: config.sensors.map((sensor) => ({ ...sensor, periodMs: sensor.periodMs * factor })),
    })),
  );
}

/** Seen at once, and taken back; the alert stands until the next good one is read. */
function wrongConfiguration(stroke: Stroke): void {
  const { world } = stroke;
  lasting(stroke, 'a technician writes a wrong configuration', 10 * MINUTE_MS, () => {
    world.configuration.fault = new ConfigError('turnstone.yaml', []);
    world.reload();
    world.timeline.after(READ_WITHIN_MS, () => {
      world.configuration.fault = undefined;
    });
    return () => world.timeline.after(READ_WITHIN_MS, () => world.reload());
  });
}

/** Rightly, or with what does not fit. */
function settingByAttribute(stroke: Stroke): void {
  const { world, chance } = stroke;
  const { state } = world.platform;
  const key = chance.pick(['sensors.room0.period', 'platform.reconcilePeriod', 'outbox.commitAge', 'log.level']);
  const value = chance.pick(['5s', '1s', 'soon', 'warn', -1]);
  lasting(stroke, `somebody sets ${key} to ${value}`, 20 * MINUTE_MS, () => {
    state.setAttributes(world.deviceId, 'SHARED_SCOPE', { [key]: value });
    return () => state.removeAttributes(world.deviceId, 'SHARED_SCOPE', [key]);
  });
}
