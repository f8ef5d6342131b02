/** Troubles of identity: tokens, the device at the platform, the board beneath the card. Somebody comes and puts it right. */
import { Secret } from '../../../src/config/fields/secret.ts';
import { hasCode } from '../../../src/errors/agent-error.ts';
import type { JsonObject } from '../../../src/values/json.ts';
import type { World } from '../world.ts';
import { MINUTE_MS, SECOND_MS, type Stroke, type Trouble, within } from './stroke.ts';

/** Time until a start takes up a written file; a board that has no power starts later. */
const TAKEN_UP_MS = 2 * MINUTE_MS;
/** A person at the console tries again until the agent says that it is done. */
const ASK_AGAIN_MS = 20 * SECOND_MS;
const LOOKED_AFTER_MS = 9 * MINUTE_MS;

export const IDENTITY_TROUBLES: readonly Trouble[] = [
  { name: 'token changed', weight: 1, befall: (stroke) => alone(stroke, tokenChanged) },
  { name: 'token rotated', weight: 1, befall: (stroke) => alone(stroke, tokenRotated) },
  { name: 'device deleted', weight: 1, befall: (stroke) => alone(stroke, deviceDeleted) },
  { name: 'card moved', weight: 1, befall: (stroke) => alone(stroke, cardMoved) },
  { name: 'identity forgotten', weight: 1, befall: (stroke) => alone(stroke, identityForgotten) },
  { name: 'device made unheard', weight: 1, befall: madeUnheard },
];

/** Nobody begins while another one is at it. */
function alone(stroke: Stroke, begin: (stroke: Stroke, done: () => void) => void): void {
  const { identity, timeline } = stroke.world;
  if (identity.isBusy) return;
  identity.isBusy = true;
  begin(stroke, () =>
    timeline.after(TAKEN_UP_MS, () => {
      identity.isBusy = false;
    }),
  );
}

function tokenChanged(stroke: Stroke, done: () => void): void {
  const { world } = stroke;
  world.story.tell('somebody changes the token at the platform');
  world.identity.changeToken(world.identity.nextToken());
  comes(stroke, done);
}

/** All that it had is gone; one of the same name is made later. */
function deviceDeleted(stroke: Stroke, done: () => void): void {
  const { world, chance } = stroke;
  world.story.tell('somebody deletes the device at the platform');
  remove(world);
  if (world.site.provisions === 'again' && isOwn(world)) {
    done();
    return;
  }
  world.timeline.after(within(stroke, chance.magnitude(SECOND_MS, 10 * MINUTE_MS)), () => {
    world.story.tell('the device is made anew');
    world.identity.changeToken(world.identity.nextToken());
    comes(stroke, done);
  });
}

/** Removes the device. Requests that were answered by then are stored first: the platform waits for no line. */
function remove({ network, identity }: World): void {
  network.storeAnswered();
  identity.remove();
}

/** A technician writes the token that the platform takes into the configuration, and restarts the agent. */
function comes(stroke: Stroke, done: () => void): void {
  const { world, chance } = stroke;
  world.timeline.after(within(stroke, chance.magnitude(5 * SECOND_MS, 20 * MINUTE_MS)), () => {
    world.story.tell('a technician writes the new token into the configuration');
    const accessToken = new Secret(world.identity.token);
    world.configuration.change((config) => ({ ...config, platform: { ...config.platform, accessToken } }));
    world.stopAgent();
    done();
  });
}

/** Announced to the agent first, and then entered at the platform. */
function tokenRotated(stroke: Stroke, done: () => void): void {
  const { world, chance } = stroke;
  const accessToken = world.identity.nextToken();
  const enter = (): void => {
    world.timeline.after(chance.magnitude(SECOND_MS, 10 * MINUTE_MS), () => {
      world.story.tell('the next token is entered at the platform');
      world.identity.changeToken(accessToken);
      done();
    });
  };
  ask(world, { door: 'setNextAccessToken', params: { accessToken }, taken: enter, givenUp: done });
}

/** The card goes on in another board, until somebody says that it is to stay there. */
function cardMoved(stroke: Stroke, done: () => void): void {
  const { world, chance } = stroke;
  if (!world.cutPower(within(stroke, chance.magnitude(30 * SECOND_MS, 10 * MINUTE_MS)), chance.pick([0.5, 1]))) {
    done();
    return;
  }
  world.story.tell('the card is put into another board');
  const movedAtMs = world.timeline.nowMs;
  world.identity.moveCard();
  // The token had just been refused: what the former board had for the next one was only asked for, and nobody can keep that.
  const givenUp = (): void => {
    world.identity.leftBehind.push(movedAtMs);
    done();
  };
  world.timeline.after(within(stroke, chance.magnitude(MINUTE_MS, 20 * MINUTE_MS)), () =>
    ask(world, { door: 'adoptIdentity', taken: done, givenUp }),
  );
}

/** Somebody gives the identity up, and deletes the device, so that this board can come anew under the same name. */
function identityForgotten(stroke: Stroke, done: () => void): void {
  const { world, chance } = stroke;
  if (!isOwn(world)) {
    done();
    return;
  }
  world.identity.excuse = 'it was given up';
  const comeBack = (): void => {
    world.timeline.after(chance.magnitude(SECOND_MS, 10 * MINUTE_MS), () => {
      makeRoom(world);
      done();
    });
  };
  ask(world, { door: 'forgetIdentity', taken: comeBack, givenUp: done });
}

/** The platform makes the device, and its answer is lost; often with it the agent, or the power. */
function madeUnheard({ world, chance, untilMs }: Stroke): void {
  let left = chance.between(1, 3);
  const end = world.network.intercept(({ path }) => {
    if (left === 0 || !path.endsWith('/provision')) return undefined;
    left -= 1;
    world.story.tell('the answer to who the board is is lost');
    const then = chance.pick(['no more', 'kill', 'cut'] as const);
    if (then === 'kill') world.killAgent();
    if (then === 'cut') world.cutPower(chance.magnitude(2 * SECOND_MS, MINUTE_MS), chance.pick([0, 0.5, 1]));
    return { status: 504, body: '', afterDoing: true };
  });
  world.timeline.after(untilMs - world.timeline.nowMs, end);
}

/** The device of this name goes, and the board, which asks seldom by then, is told to ask again. */
function makeRoom(world: World): void {
  world.story.tell('somebody deletes the device, so that the board can take its place');
  remove(world);
  world.stopAgent();
}

/** Text of the agent when the platform has a device of its name by another token; a person has to choose. */
const NAME_TAKEN = 'device exists, token unknown';

/** Somebody looks now and then whether a board that provisions itself has come to its device. */
export function lookAfterProvisioning(world: World): void {
  if (world.site.provisions === 'not') return;
  world.timeline.after(LOOKED_AFTER_MS, () => {
    const { identity } = world;
    if (!identity.isBusy && isNameTaken(world)) {
      if (identity.excuse === undefined) identity.strandings.push(world.timeline.nowMs);
      makeRoom(world);
    }
    lookAfterProvisioning(world);
  });
}

/** True when it goes by the token that it provisioned, and not by one that somebody wrote. */
function isOwn({ configuration }: World): boolean {
  return configuration.file.config.platform.accessToken === undefined;
}

function isNameTaken({ life }: World): boolean {
  return life?.agent?.status().alerts.some((alert) => alert.includes(NAME_TAKEN)) === true;
}

interface Question {
  readonly door: string;
  readonly params?: JsonObject;
  readonly taken: () => void;
  /** It can never be taken: the board has nothing to do it with, and gets nothing before the device of its name is gone. */
  readonly givenUp: () => void;
}

/** At the agent's own console. */
function ask(world: World, { door, params = {}, taken, givenUp }: Question): void {
  let isDone = false;
  const again = (): void => {
    if (isDone) return;
    void world.life?.ask(door, params).then(
      () => {
        if (isDone) return;
        isDone = true;
        world.story.tell(`the agent has taken ${door}`);
        taken();
      },
      (error: unknown) => {
        if (isDone || !hasCode(error, 'provisioning/no-credentials') || !isNameTaken(world)) return;
        isDone = true;
        world.story.tell(`nobody asks for ${door} any more: the board has no credentials, and its name is taken`);
        givenUp();
      },
    );
    world.timeline.after(ASK_AGAIN_MS, again);
  };
  again();
}
