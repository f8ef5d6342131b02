/** Section of a kind whose fields are made when a configuration has one of the kind: no gateway has them all, and each takes memory. */
import { z } from 'zod';

/** @param make returns the schema of the section, whose member `kind` is the kind's name. */
export function lazySection<const K extends string, S extends z.ZodType>(
  kind: K,
  make: () => S,
): z.ZodLazy<S> & { readonly kind: K } {
  const schema = z.lazy(make);
  // Values by which a union finds the section of a kind, and leaves the others unmade.
  Object.defineProperty(schema._zod, 'propValues', { value: { kind: new Set([kind]) } });
  return Object.assign(schema, { kind });
}
