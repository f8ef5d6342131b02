/** Faults that a test, or a person at a bench, can plant between a client and the platform's routes. */
import type { ServerResponse } from 'node:http';
import type { Clock } from '../host/clock.ts';
import type { Reply } from './http-reply.ts';
import type { Interference } from './http-service.ts';

export type Fault =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly body?: string;
      readonly contentType?: string;
      readonly headers?: Record<string, string>;
    }
  /** Until the server's own limit. */
  | { readonly kind: 'hang' }
  /** One byte per period, without end. */
  | { readonly kind: 'drip'; readonly periodMs: number }
  /** The connection is cut without an answer. */
  | { readonly kind: 'drop' }
  /** Answered late, and properly. */
  | { readonly kind: 'delay'; readonly ms: number }
  /** Stored properly, and then the connection is cut before the answer. */
  | { readonly kind: 'lose-answer' };

interface Planted {
  readonly fault: Fault;
  readonly matches: (method: string, path: string) => boolean;
  left: number;
}

/** Telemetry uploads, which most faults are about. */
const isUpload = (method: string, path: string): boolean => method === 'POST' && path.endsWith('/telemetry');

export class Faults {
  readonly #clock: Clock;
  #planted: Planted[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The next `times` matching requests meet this fault; uploads, unless `matches` says otherwise. */
  plant(fault: Fault, options: { readonly times?: number; readonly matches?: (method: string, path: string) => boolean } = {}): void {
    this.#planted.push({ fault, matches: options.matches ?? isUpload, left: options.times ?? 1 });
  }

  clear(): void {
    this.#planted = [];
  }

  /** How many requests are still to meet a fault. */
  get left(): number {
    return this.#planted.reduce((sum, { left }) => sum + left, 0);
  }

  readonly interfere: Interference = async (method, path, response) => {
    const planted = this.#planted.find((candidate) => candidate.matches(method, path));
    if (planted === undefined) return undefined;
    planted.left -= 1;
    if (planted.left <= 0) this.#planted = this.#planted.filter((candidate) => candidate !== planted);
    return await this.#act(planted.fault, response);
  };

  async #act(fault: Fault, response: ServerResponse): Promise<Reply | 'unanswered' | 'taken' | undefined> {
    switch (fault.kind) {
      case 'answer':
        return fault;
      case 'hang':
        return 'unanswered';
      case 'delay':
        await this.#clock.sleep(fault.ms, new AbortController().signal);
        return undefined;
      case 'drop':
        response.destroy();
        return 'taken';
      case 'lose-answer':
        response.end = (): ServerResponse => response.destroy();
        return undefined;
      case 'drip':
        response.writeHead(200, { 'content-type': 'application/json' });
        this.#drip(response, fault.periodMs);
        return 'taken';
    }
  }

  #drip(response: ServerResponse, periodMs: number): void {
    if (response.destroyed) return;
    response.write(' ');
    this.#clock.after(periodMs, () => this.#drip(response, periodMs));
  }
}
