/**
 * Bytes of the link: of one reading and one empty poll, of a month at rest and of a metered one; the agent's own count against them, what is used
 * beyond a month's limit; and the time of an upload beside 90 standing polls over HTTP/2.
 *
 *   npm run bench:link [-- --json] [-- --posts 300] [-- --days 2] [-- --months 100]
 *
 * Prices: a TCP proxy between agent and platform counts what passes, both directions, TLS 1.3 included, and TCP/IP by a model
 * (link-bench/counting-proxy.ts). The platform is a stand-in in a process of its own that answers with the headers of a stock server, and shows a
 * chain of three certificates of 4.3 kB. Each kind of exchange is the average of ten.
 *
 * Months: the real agent in a virtual time, on a disk in memory, before a line whose exchanges cost these prices (link-bench/priced-line.ts). The
 * server answers 503 to a poll after 30 s, goes away from a connection after 1,000 requests and ends one that is idle for 75 s; handshakes go on
 * from the last session; TCP asks a connection that is silent for 31 s while something is under way on it. A month at rest has no sensor
 * and is 2 days, the metered one 6 with five keys each minute and `link: { metered: true, monthly: 15MB, wake: 15m }`: the first day counts once, the
 * others make up the rest of 30. `meteredSentShare` says what of the values the platform had by then.
 *
 * `countedError`: the largest of four profiles, each of some seconds. `overMonthMb`: link-bench/over-months.ts.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { countedErrors } from './link-bench/counted-error.ts';
import type { MonthAsked, MonthFigures } from './link-bench/month-child.ts';
import { month } from './link-bench/over-months.ts';
import { postBehindPolls } from './link-bench/post-behind-polls.ts';
import { measurePrices } from './link-bench/prices.ts';
import { CHAIN_BYTES } from './link-bench/stand-in.ts';

const SERVER_CUTS_MS = 30_000;
const SERVER_HOLDS_MS = 300_000;
/** Times those of a month at rest: steps are taken and undone in them. */
const METERED_TIMES = 3;
const VALUES_A_DAY = 5 * 1_440;

const { values: flags } = parseArgs({
  options: {
    json: { type: 'boolean', default: false },
    posts: { type: 'string', default: '300' },
    days: { type: 'string', default: '2' },
    months: { type: 'string', default: '100' },
  },
});
const days = Number(flags.days);

const postBehindPollMs = await postBehindPolls(Number(flags.posts));
const [h2, h1, metered] = [await measurePrices(false), await measurePrices(true), await measurePrices(false, true)];
const counted = await countedErrors();

/** Two runs at a time. */
const [[idle, idleH1, idleHeld], meteredMonth] = await Promise.all([
  (async () => [
    await run({ prices: h2, cutMs: SERVER_CUTS_MS, config: {}, days }),
    await run({ prices: h1, cutMs: SERVER_CUTS_MS, config: {}, days }),
    await run({ prices: h2, cutMs: SERVER_HOLDS_MS, config: {}, days }),
  ])() as Promise<[MonthFigures, MonthFigures, MonthFigures]>,
  run({
    prices: metered,
    cutMs: SERVER_CUTS_MS,
    days: days * METERED_TIMES,
    config: {
      sensors: [{ name: 'machine', kind: 'host', period: '1m', groups: ['cpu', 'load', 'uptime'] }],
      link: { metered: true, monthly: '15MB', wake: '15m' },
    },
  }),
]);

const wrong = { least: Math.min(...Object.values(counted)), most: Math.max(...Object.values(counted)) };
const months: Awaited<ReturnType<typeof month>>[] = [];
for (let seed = 1; seed <= Number(flags.months); seed += 1) months.push(await month(seed, metered, wrong));

const figures = {
  idleMonthMb: idle.megabytes,
  idleMonthMbH1: idleH1.megabytes,
  idleMonthMbHeld300: idleHeld.megabytes,
  meteredMonthMb: meteredMonth.megabytes,
  meteredSentShare: share(meteredMonth.sentValues / (VALUES_A_DAY * days * METERED_TIMES)),
  countedError: Math.max(...Object.values(counted).map(Math.abs)),
  countedErrors: counted,
  overMonthMb: Math.max(...months.map(({ overBytes }) => overBytes)) / 1e6,
  monthsWithSteps: months.filter(({ step }) => step > 0).length,
  postBehindPollMs,
  readingBytesH2: h2.reading,
  readingBytesH1: h1.reading,
  pollBytesH2: Math.round(h2.poll),
  pollBytesH1: Math.round(h1.poll),
  pairOfPollsBytesH2: Math.round(h2.pollOther + h2.pollTogether),
  resumedBytes: Math.round(h2.resumed),
  resumedBytesMetered: Math.round(metered.resumed),
  chainBytes: CHAIN_BYTES,
  lanes: { idle: idle.lanes, idleHeld: idleHeld.lanes, metered: meteredMonth.lanes },
  meteredConnectionsADay: meteredMonth.connectionsADay,
  meteredStep: meteredMonth.step,
};
if (flags.json) console.log(JSON.stringify(figures));
else
  for (const [name, value] of Object.entries(figures))
    console.log(`${name.padEnd(22)}${typeof value === 'object' ? JSON.stringify(value) : value}`);
// Sockets of the measured clients may still stand.
process.exit();

async function run(asked: MonthAsked): Promise<MonthFigures> {
  const child = fork(new URL('./link-bench/month-child.ts', import.meta.url), [JSON.stringify(asked)]);
  const [result] = (await once(child, 'message')) as [MonthFigures];
  return result;
}

function share(value: number): number {
  return Math.round(value * 1_000) / 1_000;
}
