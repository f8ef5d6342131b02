/** Operations that are asked for at the device alone: the record of what happened, the process itself, its configuration read again. */

import type { TimelineAnswer } from '../timeline/query.ts';
import { isJsonObject, type JsonObject } from '../values/json.ts';
import { memberOf, type OperationsOn, QUESTION } from './operation.ts';

export interface LocalParts {
  readonly timeline: (query: JsonObject) => TimelineAnswer;
  /** Address of the page for a browser on this machine; undefined while there is none. */
  readonly pageUrl: () => string | undefined;
  readonly memory: () => { readonly [part: string]: number };
  readonly reload: () => Promise<JsonObject>;
}

export const LOCAL_OPERATIONS: OperationsOn<LocalParts> = {
  timeline: ({ timeline }) => ({
    ...QUESTION,
    description: 'What happened, the newest first.',
    askers: ['viewer'],
    params: { type: 'object' },
    run: (params) => timeline(isJsonObject(params) ? params : {}),
  }),
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
    ...QUESTION,
    description: 'Takes the configuration file up again.',
    effect: 'set',
    askers: ['site'],
    run: reload,
  }),
};
