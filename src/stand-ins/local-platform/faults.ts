/** Faults that a test, or a person at a bench, can plant between a client and the platform's routes. */
import type { ServerResponse } from 'node:http';
import type { Clock } from '../../host/clock.ts';
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
  /** As if the body came at this rate: a client that gives up before the end has sent nothing. */
  | { readonly kind: 'slow'; readonly bytesPerSecond: number }
  /** Stored properly, and then the connection is cut before the answer. */
  | { readonly kind: 'lose-answer' };

interface Planted {
  readonly fault: Fault;
  readonly matches: (method: string, path: string) => boolean;
  readonly device: string | undefined;
  left: number;
}

interface PlantOptions {
  /** Default 1; `Number.POSITIVE_INFINITY` until it is cleared. */
  readonly times?: number;
  /** Name of the one device whose requests meet it. */
  readonly device?: string;
  /** Default: uploads. */
  readonly matches?: (method: string, path: string) => boolean;
}

export interface FaultsDeps {
  readonly clock: Clock;
  /** Access token of the device of this name, as it is now. */
  readonly tokenOf: (name: string) => string | undefined;
}

/** Telemetry uploads, which most faults are about. */
const isUpload = (method: string, path: string): boolean => method === 'POST' && path.endsWith('/telemetry');

export class Faults {
  readonly #deps: FaultsDeps;
  #planted: Planted[] = [];

  constructor(deps: FaultsDeps) {
    this.#deps = deps;
  }

  /** The next `times` matching requests meet this fault. */
  plant(fault: Fault, { times = 1, matches = isUpload, device }: PlantOptions = {}): void {
    this.#planted.push({ fault, matches, device, left: times });
  }

  /** Takes all faults away, or those of one device. */
  clear(device?: string): void {
    this.#planted = device === undefined ? [] : this.#planted.filter((planted) => planted.device !== device);
  }

  /** How many requests are still to meet a fault. */
  get left(): number {
    return this.#planted.reduce((sum, { left }) => sum + left, 0);
  }

  readonly interfere: Interference = async ({ method, path, bodyBytes }, response) => {
    const token = tokenIn(path);
    const planted = this.#planted.find(
      ({ matches, device }) =>
        matches(method, path) && (device === undefined || (token !== '' && this.#deps.tokenOf(device) === token)),
    );
    if (planted === undefined) return undefined;
    planted.left -= 1;
    if (planted.left <= 0) this.#planted = this.#planted.filter((candidate) => candidate !== planted);
    return await this.#act(planted.fault, bodyBytes, response);
  };

  async #act(
    fault: Fault,
    bodyBytes: number,
    response: ServerResponse,
  ): Promise<Reply | 'unanswered' | 'taken' | undefined> {
    switch (fault.kind) {
      case 'answer':
        return fault;
      case 'hang':
        return 'unanswered';
      case 'delay':
        await this.#sleep(fault.ms);
        return undefined;
      case 'slow':
        await this.#sleep((bodyBytes * 1_000) / fault.bytesPerSecond);
        return response.destroyed ? 'taken' : undefined;
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

  #sleep(ms: number): Promise<void> {
    return this.#deps.clock.sleep(ms, new AbortController().signal);
  }

  #drip(response: ServerResponse, periodMs: number): void {
    if (response.destroyed) return;
    response.write(' ');
    this.#deps.clock.after(periodMs, () => this.#drip(response, periodMs));
  }
}

/** Access token of a device's path; '' for a path of people. Each path comes here decodable. */
function tokenIn(path: string): string {
  const [, token = ''] = /^\/api\/v1\/([^/]+)\//.exec(path) ?? [];
  return decodeURIComponent(token);
}
