/** All requests that reached the line, as far back as a judgement of them goes; and what was too many. */

/** One request, as the witness counts it. */
export interface Request {
  /** Method and path, without what names the device. */
  readonly what: string;
  readonly atMs: number;
  /** Until a good answer has come. */
  failed: boolean;
}

const MINUTE_MS = 60_000;
/** Under no manner of the network more: three uploads a second behind a limit of values (upload-pace.ts), and beside them polls and replies. */
const REQUESTS_A_MINUTE = 200;
/** An upload every ten seconds, two polls in turns, attributes. */
const OF_A_DEVICE = 15;
/** To a host that answers nothing good: one in two seconds, sustained for five minutes. Each good answer allows one more. */
const FAILING_IN_FIVE = 150;
/** Requests of a device that are under way when the platform goes. */
const UNDER_WAY = 3;
/** So many are kept before the older ones are judged and forgotten: a year of polls is three million. */
const MAX_KEPT = 20_000;

export class Requests {
  /** Devices behind the gateway, which send and poll, too. */
  attached = 0;
  /** Ever. */
  count = 0;
  #kept: Request[] = [];
  readonly #faults: string[] = [];

  note(what: string, atMs: number): Request {
    if (this.#kept.length >= MAX_KEPT) this.#judge(atMs - 10 * MINUTE_MS);
    this.count += 1;
    const request = { what, atMs, failed: true };
    this.#kept.push(request);
    return request;
  }

  /** In words, each with when it was; none when there were never too many. */
  faults(): readonly string[] {
    this.#judge(Number.POSITIVE_INFINITY);
    return this.#faults;
  }

  #judge(untilMs: number): void {
    const failed = this.#kept.filter((request) => request.failed);
    const good = this.#kept.filter((request) => !request.failed).map(({ atMs }) => atMs);
    this.#faults.push(
      ...tooMany(this.#kept, { limit: REQUESTS_A_MINUTE + this.attached * OF_A_DEVICE, withinMs: MINUTE_MS }),
      ...tooMany(failed, {
        limit: FAILING_IN_FIVE + this.attached * UNDER_WAY,
        withinMs: 5 * MINUTE_MS,
        allowedBy: good,
      }).map((one) => `failing ones: ${one}`),
    );
    this.#kept = this.#kept.filter(({ atMs }) => atMs >= untilMs);
  }
}

interface Bound {
  readonly limit: number;
  readonly withinMs: number;
  /** Times, in order, each of which allows one more. */
  readonly allowedBy?: readonly number[];
}

/** The first time that there were more than `limit` within `withinMs`, and of what. */
function tooMany(requests: readonly Request[], { limit, withinMs, allowedBy = [] }: Bound): string[] {
  let [from, allowedFrom, allowedTo] = [0, 0, 0];
  for (const [n, { atMs }] of requests.entries()) {
    while ((requests[from]?.atMs ?? 0) < atMs - withinMs) from += 1;
    while ((allowedBy[allowedFrom] ?? Number.POSITIVE_INFINITY) < atMs - withinMs) allowedFrom += 1;
    while ((allowedBy[allowedTo] ?? Number.POSITIVE_INFINITY) <= atMs) allowedTo += 1;
    if (n - from + 1 <= limit + allowedTo - allowedFrom) continue;
    const kinds = Map.groupBy(requests.slice(from, n + 1), ({ what }) => what);
    const words = [...kinds].map(([what, ones]) => `${ones.length} ${what}`).join(', ');
    return [`${n - from + 1} in ${withinMs / MINUTE_MS} min before ${(atMs / 1_000).toFixed(3)} s (${words})`];
  }
  return [];
}
