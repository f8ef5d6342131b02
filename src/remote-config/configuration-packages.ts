/**
 * Configurations that come as software packages: the verified file goes the way of every configuration from afar, and the update of the package
 * ends as its trial ends. A trial may end this process; the next one finds by the id of the update how far it came, and asks for no second.
 *
 *   payload ─► asked for before? ─┬─no──► taken ─► trial ─► kept | returned
 *                                 └─yes─────────────▲  its end, or the trial that is on
 */
import { refusal } from '../errors/agent-error.ts';
import type { UpdateFiles } from '../firmware/update-files.ts';
import type { BuiltInHandler } from '../firmware/updater-deps.ts';
import type { Clock } from '../host/clock.ts';
import { MAX_CONFIGURATION_BYTES } from './bounded-tree.ts';
import type { CandidateFault } from './candidate.ts';
import { fileHash } from './file-hash.ts';
import { isInPlace, type PackageStanding, type RemoteConfig, type Taken } from './remote-config.ts';

export interface ConfigurationPackagesDeps {
  readonly remote: Pick<RemoteConfig, 'take' | 'standing' | 'giveUp'>;
  readonly clock: Clock;
  readonly files: Pick<UpdateFiles, 'read'>;
  /** How long it may wait for its turn, counted from this process's first attempt. */
  readonly waitMs: number;
}

const LOOK_EVERY_MS = 1_000;
const ASK_AGAIN_MS = 5_000;
/** Characters of what is wrong, as the platform is told of it. */
const MAX_REASON = 500;
/** Faults and locked changes that it names. */
const MAX_NAMED = 5;

export function configurationPackages(deps: ConfigurationPackagesDeps): BuiltInHandler {
  return {
    maxPayloadBytes: MAX_CONFIGURATION_BYTES,
    install: async (image, { isWithdrawn, waits }, signal) => {
      const { remote, clock, files, waitMs } = deps;
      const { id, title, version } = image;
      const file = (await files.read(image.file, MAX_CONFIGURATION_BYTES)) ?? Buffer.alloc(0);
      const hash = fileHash(file);
      const sinceMs = clock.monotonicMs();
      let followed = id;
      for (;;) {
        const standing = await remote.standing(followed, hash);
        signal.throwIfAborted();
        if (standing?.state === 'on') {
          followed = standing.id;
          await clock.sleep(LOOK_EVERY_MS, signal);
          continue;
        }
        if (standing !== undefined) return expectKept(standing);
        if (isWithdrawn()) {
          remote.giveUp(hash, 'its package is not assigned any more');
          return 'withdrawn';
        }
        const taken = await remote.take({ file }, 'package', { from: { id, title, version } });
        signal.throwIfAborted();
        if (taken.state === 'received') {
          waits(undefined);
          continue;
        }
        // It may have been put in place by a trial that began since.
        if (isInPlace(taken)) {
          if ((await remote.standing(id, hash)) === undefined) return 'installed';
          continue;
        }
        const waitsToo = taken.isForNow === true && taken.hasNoHelper !== true;
        if (!waitsToo) throw refusal('remote-config/refused', whyRefused(taken));
        if (clock.monotonicMs() - sinceMs > waitMs) {
          const waited = refusal('remote-config/waited', `it has waited too long: ${taken.reason}`);
          remote.giveUp(hash, waited.message);
          throw waited;
        }
        waits(taken.reason);
        await clock.sleep(ASK_AGAIN_MS, signal);
      }
    },
  };
}

function expectKept(standing: Exclude<PackageStanding, { readonly state: 'on' }>): 'installed' {
  if (standing.state === 'kept') return 'installed';
  const reason = cut(standing.reason, MAX_REASON / 2);
  throw standing.state === 'returned'
    ? refusal('remote-config/returned', `the previous file is in force again: ${reason}`)
    : refusal('remote-config/refused', `it was refused: ${reason}`);
}

/** Returns all that is wrong with it, with its places, as far as there is room. */
function whyRefused({ faults, locked, reason = 'it is no configuration' }: Taken): string {
  const all = [...faults.map(faultText), ...locked.map(({ path, words }) => `locked: ${path}: ${words}`)];
  if (all.length === 0) return reason.slice(0, MAX_REASON);
  const named = all.slice(0, MAX_NAMED);
  const more = all.length > MAX_NAMED ? `; and ${all.length - MAX_NAMED} more` : '';
  // A long one leaves room for the others.
  const room = Math.floor((MAX_REASON - more.length) / named.length) - '; '.length;
  return `${named.map((words) => cut(words, room)).join('; ')}${more}`;
}

function cut(words: string, room: number): string {
  return words.length <= room ? words : `${words.slice(0, room - 1)}…`;
}

function faultText({ path, line, column, problem, expected }: CandidateFault): string {
  const place = line === undefined ? '' : `line ${line}${column === undefined ? '' : `:${column}`}, `;
  const words = `${place}${path === '' ? '' : `${path}: `}${problem}`;
  return expected === '' ? words : `${words}, expected ${expected}`;
}
