/** The way to the platform: gone, slow, lossy, or somebody else's. */
import { lasting, MINUTE_MS, type Stroke, type Trouble } from './stroke.ts';

export const NETWORK_TROUBLES: readonly Trouble[] = [
  {
    name: 'no network',
    weight: 3,
    befall: (stroke) =>
      lasting(stroke, 'the network is gone', 60 * MINUTE_MS, () => stroke.world.network.worsen({ isDown: true })),
  },
  { name: 'bad line', weight: 3, befall: badLine },
  { name: 'portal', weight: 2, befall: portal },
];

const PROXY_WAITS_S = 8;

/** Comes to stay, also in the calm. */
export const LASTING_NETWORK_TROUBLES: readonly Trouble[] = [{ name: 'slow line', weight: 1, befall: slowForGood }];

export const PORTAL_PAGE =
  '<!doctype html><html><body><form action="/login">Welcome to the harbour hotel. Please log in.</form></body></html>';

/** Somebody on the way answers in the platform's place: nothing of it arrives there. */
function portal(stroke: Stroke): void {
  const { world, chance } = stroke;
  const answer = chance.pick([
    { status: 200, body: PORTAL_PAGE, contentType: 'text/html' },
    { status: 302, body: '', headers: { location: 'http://login.portal.example/' } },
    { status: 511, body: PORTAL_PAGE, contentType: 'text/html' },
    { status: 407, body: '' },
  ]);
  lasting(stroke, `a portal answers everything with ${answer.status}`, 30 * MINUTE_MS, () =>
    world.network.intercept(() => answer),
  );
}

function badLine(stroke: Stroke): void {
  const { world, chance } = stroke;
  const line = {
    latencyMs: chance.magnitude(5, 3_000),
    bytesPerSecond: chance.magnitude(1_000, 1_000_000),
    lostRequests: chance.random() * 0.3,
    lostAnswers: chance.random() * 0.3,
    cutAnswers: chance.happens(0.5) ? chance.random() * 0.3 : 0,
  };
  const share = (value: number): string => `${Math.round(value * 100)} %`;
  const words = `the line is bad: ${Math.round(line.latencyMs)} ms, ${Math.round(line.bytesPerSecond)} B/s, ${share(line.lostRequests)} of requests and ${share(line.lostAnswers)} of answers are lost, ${share(line.cutAnswers)} are cut`;
  lasting(stroke, words, 30 * MINUTE_MS, () => world.network.worsen(line));
}

/** The site moves to a modem. */
function slowForGood({ world, chance }: Stroke): void {
  const line = { latencyMs: chance.magnitude(50, 300), bytesPerSecond: chance.magnitude(2_000, 8_000) };
  world.story.tell(`from now on the line does ${Math.round(line.bytesPerSecond)} B/s`);
  world.network.worsen(line);
  if (chance.happens(0.5)) return;
  const most = line.bytesPerSecond * PROXY_WAITS_S;
  world.story.tell(`and a proxy gives up on what has not come whole in ${PROXY_WAITS_S} s`);
  world.network.intercept(({ bodyBytes }) => (bodyBytes > most ? { status: 504, body: '' } : undefined));
}
