/** Configurations from afar, good and bad ones, and what befalls a gateway in the midst of a trial. Planned in worlds that allow them alone. */
import { MINUTE_MS, SECOND_MS, type Stroke, type Trouble, within } from './stroke.ts';

export const CONFIGURATION_FROM_AFAR = 'configuration from afar';

export const AFAR_TROUBLES: readonly Trouble[] = [{ name: CONFIGURATION_FROM_AFAR, weight: 0, befall: fromAfar }];

/** Changes of the disk ahead at which a cut is placed: those of a request and of the beginning of its trial. */
const MAX_CHANGES = 80;

function fromAfar(stroke: Stroke): void {
  const { world, chance } = stroke;
  if (world.site.remote === undefined || !world.identity.wasThere) return;
  const lastsMs = world.afar.send(chance);
  const meanwhile = chance.pick(['nothing', 'nothing', 'nothing', 'edit', 'kill', 'power', 'cut', 'second'] as const);
  const atMs = within(stroke, chance.magnitude(100, lastsMs));
  if (meanwhile === 'edit') world.timeline.after(atMs, () => edit(stroke));
  if (meanwhile === 'kill') world.timeline.after(atMs, () => world.killAgent());
  if (meanwhile === 'power') world.timeline.after(atMs, () => cut(stroke));
  if (meanwhile === 'second') world.timeline.after(atMs, () => world.afar.send(chance));
  if (meanwhile !== 'cut') return;
  const at = chance.pick(['before', 'inside', 'after'] as const);
  const cancel = world.disk.cutAt(chance.between(1, MAX_CHANGES), at, () => {
    world.story.tell(`the power goes ${at} a change of the disk`);
    cut(stroke);
  });
  world.timeline.after(within(stroke, lastsMs), cancel);
}

function cut(stroke: Stroke): void {
  const { world, chance } = stroke;
  world.cutPower(within(stroke, chance.magnitude(2 * SECOND_MS, MINUTE_MS)), chance.random());
}

/** Somebody on site saves the file, and has it read; it means what it meant. */
function edit({ world }: Stroke): void {
  world.story.tell('somebody on site edits the file');
  world.reconfigure((config) => config);
}
