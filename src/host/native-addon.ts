/** Loads the project's own N-API addon when something first needs it. */
import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { AgentError } from '../errors/agent-error.ts';

/** In a checkout beside src, in a release beside the bundled file. */
const PLACES = ['../../native/build/Release/turnstone.node', './native/turnstone.node'];

/**
 * The addon's exports, which the caller narrows to the part it uses; Node keeps one copy however often it is asked for.
 * @throws AgentError `host/no-addon` (stop) when it was not built or is for another Node.
 */
export function nativeAddon<T>(): T {
  const path = PLACES.map((place) => fileURLToPath(new URL(place, import.meta.url))).find((candidate) =>
    existsSync(candidate),
  );
  if (path === undefined)
    throw new AgentError('host/no-addon', 'the native addon is not built: run scripts/dev.sh', { recovery: 'stop' });
  try {
    return createRequire(import.meta.url)(path) as T;
  } catch (cause) {
    throw new AgentError('host/no-addon', 'the native addon does not load in this Node', { recovery: 'stop', cause });
  }
}
