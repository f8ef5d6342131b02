/** Answers for plots: a few reads of the disk at a time, each ended when nobody waits for it. */
import type { ServerResponse } from 'node:http';
import { readSeriesQuery, type Series, type SeriesQuery } from '../history/plot-series.ts';
import type { Clock } from '../host/clock.ts';
import { jsonOf } from '../values/json.ts';
import { sendJson } from './answers.ts';

export interface SeriesAnswersDeps {
  readonly clock: Clock;
  readonly series: (query: SeriesQuery, signal: AbortSignal) => Promise<Series>;
}

/** Reads of the outbox that run at a time; others are asked to come back. */
const MAX_SERIES = 4;

export class SeriesAnswers {
  readonly #deps: SeriesAnswersDeps;
  #underWay = 0;

  constructor(deps: SeriesAnswersDeps) {
    this.#deps = deps;
  }

  async answer(response: ServerResponse, query: URLSearchParams, closed: AbortSignal): Promise<void> {
    const asked = readSeriesQuery(query, this.#deps.clock.wallMs());
    if (typeof asked === 'string') return sendJson(response, { reason: asked }, 400);
    if (this.#underWay >= MAX_SERIES) {
      response.setHeader('retry-after', 1);
      return sendJson(response, { reason: 'busy' }, 503);
    }
    this.#underWay += 1;
    const gone = new AbortController();
    response.on('close', () => gone.abort());
    try {
      sendJson(response, jsonOf(await this.#deps.series(asked, AbortSignal.any([gone.signal, closed]))));
    } catch (error) {
      if (!gone.signal.aborted) throw error;
    } finally {
      this.#underWay -= 1;
    }
  }
}
