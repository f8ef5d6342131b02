/** Brokers of a configuration although something else in it is wrong, with their secrets: for the stop hook, and for a scan. */
import { z } from 'zod';
import type { Environment } from '../host/environment.ts';
import { expandTemplates } from './expand-templates.ts';
import { readConfigBytes } from './peek-config.ts';
import { type BrokerConfig, brokerSchema } from './schema/brokers.ts';
import { resolveSecrets } from './secret-sources.ts';
import { readYaml } from './yaml/yaml-source.ts';

const PEEKED = z.looseObject({ brokers: z.array(brokerSchema).default([]) });

/** Returns those that are whole. @throws as `readConfigBytes`. */
export async function peekBrokers(file: string, environment: Environment): Promise<readonly BrokerConfig[]> {
  const { tree } = expandTemplates(readYaml(await readConfigBytes(file)));
  const { brokers } = (typeof tree === 'object' && tree !== null ? tree : {}) as { readonly brokers?: unknown };
  const resolved = await resolveSecrets(PEEKED, { brokers }, environment);
  const { brokers: found } = resolved.tree as { readonly brokers?: unknown };
  return (Array.isArray(found) ? found : []).flatMap((one) => brokerSchema.safeParse(one).data ?? []);
}
