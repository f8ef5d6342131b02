/** Which release this is. The bundler replaces the name below by its value; a checkout reads package.json. */
import { readFileSync } from 'node:fs';

/** The running release's version. */
export function agentVersion(): string {
  const bundled = process.env.TURNSTONE_VERSION;
  if (bundled !== undefined) return bundled;
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    readonly version: string;
  };
  return version;
}
