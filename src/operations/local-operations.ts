/** Operations that are asked for at the device alone: the process itself, its configuration read again, a question to the platform. */

import type { JsonObject, JsonValue } from '../values/json.ts';
import { memberOf, type OperationsOn, objectOf, QUESTION, SITE_CHANGE, textOf } from './operation.ts';

export interface LocalParts {
  /** Address of the page for a browser on this machine; undefined while there is none. */
  readonly pageUrl: () => string | undefined;
  readonly memory: () => { readonly [part: string]: number };
  readonly reload: () => Promise<JsonObject>;
  /** Asks the platform. */
  readonly clientRpc: (method: string, params: JsonValue, signal: AbortSignal) => Promise<JsonValue>;
}

export const LOCAL_OPERATIONS: OperationsOn<LocalParts> = {
  statusPage: ({ pageUrl }) => ({
    ...QUESTION,
    description: 'Where a browser on this machine finds the status page.',
    askers: ['viewer'],
    run: () => ({ url: pageUrl() ?? null }),
  }),
  memory: ({ memory }) => ({
    ...QUESTION,
    description: 'Memory of the process, by its parts.',
    askers: ['viewer'],
    run: (params) => {
      // Only where Node was started with --expose-gc, as the benchmarks do.
      if (memberOf(params, 'collect') === true) globalThis.gc?.();
      return memory();
    },
  }),
  reload: ({ reload }) => ({
    ...SITE_CHANGE,
    description: 'Takes the configuration file up again.',
    run: reload,
  }),
  clientRpc: ({ clientRpc }) => ({
    ...SITE_CHANGE,
    description: 'Asks the platform by a client-side RPC.',
    params: objectOf({ method: { type: 'string' }, params: {} }, ['method']),
    run: (params, { signal }) => clientRpc(textOf(params, 'method'), memberOf(params, 'params') ?? {}, signal),
  }),
};
