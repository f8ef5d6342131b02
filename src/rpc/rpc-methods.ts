/** What can be asked of the method table itself. */
import type { JsonValue } from '../host/json.ts';
import { type MethodsOn, QUESTION } from './rpc-method.ts';

export const TABLE_METHODS: MethodsOn<{ readonly list: () => JsonValue }> = {
  listMethods: ({ list }) => ({
    ...QUESTION,
    description: 'What can be called here, with the shape of params and what of it is allowed.',
    params: {},
    deadlineMs: 1_000,
    run: list,
  }),
};
