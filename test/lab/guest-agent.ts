/** The whole agent in a guest: the bundle that is shipped, started without systemd. */
import { join } from 'node:path';
import { buildBundle, ownNativeModules } from '../../scripts/bundle.ts';
import type { Guest } from './guest.ts';
import { CHECKOUT } from './machine.ts';
import { until } from './platform-view.ts';

const CONFIG = '/data/turnstone.yaml';
const LOG = '/data/agent.log';

/** Builds the bundle where guests see it as /lab/.lab/bundle. */
export async function makeBundle(): Promise<void> {
  await buildBundle(ownNativeModules(), { target: join(CHECKOUT, '.lab/bundle') });
}

export class GuestAgent {
  readonly #guest: Guest;

  constructor(guest: Guest) {
    this.#guest = guest;
  }

  async configure(yaml: string): Promise<void> {
    await this.#guest.run(
      `cat >${CONFIG} <<'END'\n${yaml}\nEND\nchmod 600 ${CONFIG}\n${TURNSTONE} check-config ${CONFIG}`,
    );
  }

  async start(options = ''): Promise<void> {
    await this.#guest.run(
      `mkdir -p /run/turnstone; setsid ${TURNSTONE} run --config ${CONFIG} ${options} >>${LOG} 2>&1 & echo $! >/run/agent.pid`,
    );
  }

  /** Ends it in good order; resolves with its exit code's absence from the process table. */
  async stop(signal: 'TERM' | 'KILL' = 'TERM'): Promise<void> {
    await this.#guest.run(`kill -${signal} $(cat /run/agent.pid)`);
    await until('the agent to end', async () =>
      (await this.#guest.attempt('kill -0 $(cat /run/agent.pid)')).status === 0 ? undefined : true,
    );
  }

  async log(): Promise<string> {
    return await this.#guest.run(`cat ${LOG}`);
  }
}

export const TURNSTONE = '/lab/.lab/bundle/turnstone';
