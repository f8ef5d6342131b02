/** The platform's manners: it restarts, forgets, limits, refuses, and answers what nobody expects. */
import { PORTAL_PAGE } from './network.ts';
import { lasting, MINUTE_MS, SECOND_MS, type Stroke, type Trouble, within } from './stroke.ts';

export const PLATFORM_TROUBLES: readonly Trouble[] = [
  { name: 'platform restart', weight: 2, befall: restart },
  { name: 'server errors', weight: 2, befall: serverErrors },
  { name: 'token refused', weight: 1, befall: refused },
  { name: 'too large', weight: 1, befall: tooLarge },
  { name: 'picky filter', weight: 1, befall: picky },
  { name: 'lost polls', weight: 2, befall: lostPolls },
  { name: 'hostile answers', weight: 1, befall: hostile },
  { name: 'rate limit', weight: 1, befall: limited },
  { name: 'foreign attributes', weight: 1, befall: foreignAttributes },
  { name: 'firmware offer', weight: 1, befall: firmwareOffer },
];

/** Comes to stay, also in the calm. */
export const LASTING_PLATFORM_TROUBLES: readonly Trouble[] = [
  { name: 'data limit', weight: 1, befall: limitedForGood },
];

function restart(stroke: Stroke): void {
  const { world, chance } = stroke;
  // It is restarting already.
  if (world.network.platform === undefined) return;
  world.story.tell('the platform restarts');
  world.network.platform = undefined;
  void world.platform.goAway();
  world.timeline.after(within(stroke, chance.magnitude(SECOND_MS, 2 * MINUTE_MS)), () => {
    void world.platform.comeBack();
    world.network.platform = world.platform;
    world.story.tell('the platform is back');
  });
}

/** As the real one has them: its rate limit is a 500 too. */
function serverErrors(stroke: Stroke): void {
  const { world, chance } = stroke;
  const share = chance.pick([0.1, 0.5, 1]);
  const [status, body] = chance.pick([
    [500, ''],
    [500, '{"status":500,"message":"Too many requests","errorCode":33}'],
    [500, '{"status":500,"message":"Internal server error","errorCode":2}'],
    [502, '<html><body>Bad Gateway</body></html>'],
    [503, ''],
    [504, ''],
  ] as const);
  const afterDoing = chance.happens(0.3);
  const words = `the platform answers ${share * 100} % of requests with ${status}${afterDoing ? ', and has done what was asked' : ''}`;
  lasting(stroke, words, 20 * MINUTE_MS, () =>
    world.network.intercept(() => (chance.happens(share) ? { status, body, afterDoing } : undefined)),
  );
}

function refused(stroke: Stroke): void {
  const body = '{"status":401,"message":"Invalid credentials","errorCode":10}';
  lasting(stroke, 'the platform does not know the token', 10 * MINUTE_MS, () =>
    stroke.world.network.intercept(() => ({ status: 401, body, contentType: 'application/json' })),
  );
}

function tooLarge(stroke: Stroke): void {
  const { world, chance } = stroke;
  const most = Math.round(chance.magnitude(1_000, 50_000));
  // Then there is more to send at once.
  const longGone = chance.happens(0.5);
  if (longGone)
    world.timeline.after(
      within(stroke, chance.magnitude(MINUTE_MS, 15 * MINUTE_MS)),
      world.network.worsen({ isDown: true }),
    );
  lasting(stroke, `a proxy takes no more than ${most} bytes at once`, 30 * MINUTE_MS, () =>
    world.network.intercept(({ bodyBytes }) =>
      bodyBytes > most ? { status: 413, body: 'Request Entity Too Large' } : undefined,
    ),
  );
}

/** Something on the way takes offence at what holds certain digits, and at nothing else: shorter than what it takes to call an entry bad. */
function picky(stroke: Stroke): void {
  const { world, chance } = stroke;
  // One digit is in most of what is sent.
  const digits = chance.pick([String(chance.between(0, 9)), String(chance.between(10, 99))]);
  lasting(stroke, `what holds the digits ${digits} is refused`, 15 * MINUTE_MS, () =>
    world.network.intercept(({ method, path, body }) =>
      method === 'POST' && path.endsWith('/telemetry') && body.includes(digits, body.indexOf('values'))
        ? {
            status: 400,
            body: '{"status":400,"message":"not acceptable","errorCode":31}',
            contentType: 'application/json',
          }
        : undefined,
    ),
  );
}

/** Loses messages of polls with their answers, or lets none stand, as somebody on the way does. */
function lostPolls(stroke: Stroke): void {
  const { world, chance } = stroke;
  const share = chance.pick([0.2, 1]);
  const afterDoing = chance.happens(0.6);
  const words = `${share * 100} % of polls end with ${afterDoing ? '408, whatever they were to bring' : 'nothing, at once'}`;
  lasting(stroke, words, 10 * MINUTE_MS, () =>
    world.network.intercept(({ method, path }) =>
      method === 'GET' && path.includes('timeout=') && chance.happens(share)
        ? { status: afterDoing ? 408 : 200, body: '', afterDoing }
        : undefined,
    ),
  );
}

const HOSTILE_BODIES: readonly string[] = [
  '',
  'null',
  '[]',
  '"yes"',
  '{"id":"1","method":7}',
  '{"id":-1,"method":"setActuator","params":[]}',
  '{"shared":[1,2,3],"client":"x"}',
  '{"deleted":{"a":1}}',
  `${'['.repeat(5_000)}${']'.repeat(5_000)}`,
  `{"shared":{"x":"${'x'.repeat(200_000)}"}}`,
  '{"shared":{"__proto__":{"a":1},"constructor":null}}',
  '{"shared":{"log.level":"loud","sensors.room0.period":"-1s","heater":"up","motorUp":1e999}}',
  PORTAL_PAGE,
];

/** Only to what it would ask: what it sends is stored, or it could not know. */
function hostile(stroke: Stroke): void {
  const { world, chance } = stroke;
  const share = chance.pick([0.1, 1]);
  lasting(stroke, `the platform answers ${share * 100} % of questions with nonsense`, 10 * MINUTE_MS, () =>
    world.network.intercept(({ method, path }) => {
      if (method !== 'GET' || !chance.happens(share)) return undefined;
      const body = chance.pick(HOSTILE_BODIES);
      return {
        status: 200,
        body,
        contentType: 'application/json',
        isPlatforms: body.startsWith('{') && path.includes('/attributes'),
      };
    }),
  );
}

function limited(stroke: Stroke): void {
  const { world, chance } = stroke;
  const limits = {
    messages: `${chance.between(1, 20)}:1,${chance.between(20, 200)}:60`,
    dataMessages: `${chance.between(1, 20)}:1,${chance.between(20, 200)}:60`,
    dataPoints: `${chance.between(50, 500)}:1,${chance.between(300, 3_000)}:60`,
  };
  const words = `the platform limits messages to ${limits.messages}, those with data to ${limits.dataMessages} and data points to ${limits.dataPoints}`;
  lasting(stroke, words, 30 * MINUTE_MS, () => {
    const { rateLimit } = world.platform;
    rateLimit.limits = limits;
    return () => (rateLimit.limits = world.network.limits);
  });
}

/** More than the site makes, and far less than a batch. */
function limitedForGood({ world, chance }: Stroke): void {
  const dataPoints = `${chance.between(80, 200)}:1`;
  world.story.tell(`from now on the platform limits data points to ${dataPoints}`);
  world.network.limits = { dataPoints };
  world.platform.rateLimit.limits = world.network.limits;
}

/** Keys that mean nothing to the agent come, and all go again. */
function foreignAttributes(stroke: Stroke): void {
  const { world, chance } = stroke;
  const { state } = world.platform;
  const keys = Array.from({ length: chance.between(1, 40) }, (_, n) => `foreign${n}`);
  lasting(stroke, `somebody sets ${keys.length} shared attributes that are not ours`, 20 * MINUTE_MS, () => {
    state.setAttributes(world.deviceId, 'SHARED_SCOPE', Object.fromEntries(keys.map((key, n) => [key, n])));
    return () => state.removeAttributes(world.deviceId, 'SHARED_SCOPE', keys);
  });
}

/** One that the agent refuses, or that has no file behind it. */
function firmwareOffer(stroke: Stroke): void {
  const { world, chance } = stroke;
  const { state } = world.platform;
  const offer = {
    fw_title: chance.pick(['turnstone', 'coffee-machine']),
    fw_version: chance.pick(['9.9.9', '0.0.1', '', 'newest']),
    fw_checksum: chance.pick(['00', 'a'.repeat(64)]),
    fw_checksum_algorithm: chance.pick(['SHA256', 'ROT13']),
    fw_size: chance.pick([1, 1e6, 1e15]),
  };
  lasting(stroke, `firmware is offered: ${offer.fw_title} ${offer.fw_version}`, 30 * MINUTE_MS, () => {
    state.setAttributes(world.deviceId, 'SHARED_SCOPE', offer);
    return () => state.removeAttributes(world.deviceId, 'SHARED_SCOPE', Object.keys(offer));
  });
}
