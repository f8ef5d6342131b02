/** Every kind of actuator, told apart by `kind`. */
import { z } from 'zod';
import { ACTUATOR_KINDS } from '../../kinds/actuator-kinds.ts';

type SchemasOf<T extends readonly unknown[]> = {
  -readonly [I in keyof T]: T[I] extends { readonly schema: infer S } ? S : never;
};

export const actuatorSchema = z
  .discriminatedUnion('kind', ACTUATOR_KINDS.map(({ schema }) => schema) as SchemasOf<typeof ACTUATOR_KINDS>)
  .transform(withKeys);

export type ActuatorConfig = z.infer<typeof actuatorSchema>;
export type ActuatorConfigOf<K extends ActuatorConfig['kind']> = Extract<ActuatorConfig, { readonly kind: K }>;

function withKeys<T extends { readonly name: string; readonly desiredKey?: string; readonly stateKey?: string }>(
  actuator: T,
): T & { readonly desiredKey: string; readonly stateKey: string } {
  return {
    ...actuator,
    desiredKey: actuator.desiredKey ?? actuator.name,
    stateKey: actuator.stateKey ?? `${actuator.name}State`,
  };
}
