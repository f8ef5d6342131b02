/** Troubles of the board: chips, ports and pins that fail, a door that is held, a key switch. */
import { KEY_SWITCH, METER_PORT } from '../equipment.ts';
import { lasting, MINUTE_MS, type Stroke, type Trouble, within } from './stroke.ts';

export const FIELD_TROUBLES: readonly Trouble[] = [
  { name: 'chip', weight: 3, befall: chip },
  { name: 'part', weight: 3, befall: part },
  { name: 'pins', weight: 2, befall: pins },
  {
    name: 'mute pins',
    weight: 2,
    befall: (stroke) =>
      lasting(stroke, 'pins do what they are told, and answer nothing', 15 * MINUTE_MS, () => stroke.world.pins.mute()),
  },
  { name: 'stuck relays', weight: 1, befall: stuck },
  { name: 'key switch', weight: 1, befall: keySwitch },
  { name: 'door held', weight: 1, befall: doorHeld },
  { name: 'warmth', weight: 2, befall: warmth },
];

/** Drawn by itself. */
export const RARE_FIELD_TROUBLES: readonly Trouble[] = [{ name: 'slow meter', weight: 1, befall: slowMeter }];

/** A radio link: each answer comes, and when the next one is due. */
function slowMeter(stroke: Stroke): void {
  const { world, chance } = stroke;
  const ms = Math.round(chance.magnitude(100, 4_000));
  lasting(stroke, `what the meter and the relay beside it say comes ${ms} ms late`, 20 * MINUTE_MS, () => {
    const mended = world.hindrances.begin();
    const end = world.rig.delay(METER_PORT, ms);
    return () => {
      end();
      mended();
    };
  });
}

function chip(stroke: Stroke): void {
  const { world, chance } = stroke;
  const n = chance.between(0, 7);
  const target = chance.pick([`i2c-${n >> 1}:0x${(0x76 + (n & 1)).toString(16)}`, `i2c-${n >> 1}`]);
  const fault = chance.pick(['hang', 'nak', 'garbage', 'brown-out'] as const);
  lasting(stroke, `${target}: ${fault}`, 15 * MINUTE_MS, () => world.rig.breakPart(target, fault));
}

/** Fails a part that this site has beside its rooms. */
function part(stroke: Stroke): void {
  const { world, chance } = stroke;
  if (world.site.parts.length === 0) return;
  const target = chance.pick(world.site.parts);
  const fault = chance.pick(['hang', 'nak', 'garbage', 'brown-out', 'unplug'] as const);
  lasting(stroke, `${target}: ${fault}`, 15 * MINUTE_MS, () => {
    // A relay behind a port that does not answer can be switched by nobody.
    const mended = target.startsWith(METER_PORT) ? world.hindrances.begin() : () => {};
    return world.rig.breakPart(target, fault, mended);
  });
}

function pins(stroke: Stroke): void {
  const { world, chance } = stroke;
  const [target, fault] = chance.pick([
    ['gpio', 'hang'],
    ['gpiochip0', 'unplug'],
  ] as const);
  lasting(stroke, `${target}: ${fault}`, 5 * MINUTE_MS, () =>
    world.rig.breakPart(target, fault, world.hindrances.begin()),
  );
}

/** They take every word, and stay as they are: from now on, or from when one was switched. */
function stuck(stroke: Stroke): void {
  const { world, chance } = stroke;
  if (chance.happens(0.4)) stickNow(stroke);
  else {
    const cancel = world.pins.actAt(chance.between(1, 3), 'after', () => stickNow(stroke));
    world.timeline.after(within(stroke, 10 * MINUTE_MS), cancel);
  }
}

function stickNow(stroke: Stroke): void {
  const { world } = stroke;
  lasting(stroke, 'relays take what they are told, and do not move', 5 * MINUTE_MS, () => {
    const mended = world.hindrances.begin();
    const end = world.pins.jam();
    return () => {
      mended();
      end();
    };
  });
}

/** Somebody works on the plant: nothing may be switched from afar. */
function keySwitch(stroke: Stroke): void {
  const { world } = stroke;
  lasting(stroke, 'the key switch is turned', 20 * MINUTE_MS, () => world.rig.hold(KEY_SWITCH, 1));
}

function doorHeld(stroke: Stroke): void {
  const { world, chance } = stroke;
  const open = chance.pick([0, 1]);
  lasting(stroke, `the door is held ${open === 1 ? 'open' : 'shut'}`, 30 * MINUTE_MS, () =>
    world.rig.hold('gpiochip0:4', open),
  );
}

/** A heater beside a sensor, or a window: what alarms and rules watch is another value, and perhaps it is over while the agent restarts. */
function warmth(stroke: Stroke): void {
  const { world, chance } = stroke;
  // Rules watch the first.
  const n = chance.pick([0, 0, 1, 2, 3]);
  const celsius = chance.pick([17, 18.95, 19.15, 19.35, 19.6, 19.9, 22]);
  const endsUnseen = chance.happens(0.5);
  lasting(stroke, `it is ${celsius} °C beside room${n}`, 30 * MINUTE_MS, () => {
    const end = world.rig.hold(`i2c-${n >> 1}:0x${(0x76 + (n & 1)).toString(16)}/temperature`, celsius);
    return () => {
      if (endsUnseen) world.killAgent();
      end();
    };
  });
}
