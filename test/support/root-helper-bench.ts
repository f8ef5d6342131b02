/** The root helper's logic on a disk in memory: a machine where 1.0.0 is installed, a folder where an agent leaves requests and images. */
import { join } from 'node:path';
import { adoptRelease } from '../../src/firmware/adopt-release.ts';
import {
  currentVersion,
  guardLines,
  type HelperRequest,
  readResult,
  readTrial,
  releasePaths,
} from '../../src/firmware/guard-state.ts';
import { answerRequest, type ReleaseSwapDeps } from '../../src/firmware/release-swap.ts';
import { type UpdateFiles, updateFiles } from '../../src/firmware/update-files.ts';
import { silentLog } from '../../src/host/log.ts';
import { FakeClock } from './fake-clock.ts';
import { MemoryFiles } from './memory-files.ts';
import { makeImage, makeKeys, type ReleaseImage, type ReleaseSpec } from './release-image.ts';

export const SETTINGS = '/etc/turnstone';
const never = new AbortController().signal;

export class RootHelperBench {
  readonly disk = new MemoryFiles();
  readonly clock = new FakeClock();
  readonly files: UpdateFiles = updateFiles(this.disk);
  readonly paths = releasePaths('/');
  readonly signer = makeKeys();
  /** Requests to the machine, in order: `self-test 2.0.0`, `restart`, `reboot`. */
  readonly done: string[] = [];
  isConfigurationOnTrial = false;
  /** Complaint of the next self-test. */
  fault: string | undefined;
  readonly deps: ReleaseSwapDeps = {
    files: this.files,
    paths: this.paths,
    settingsFolder: SETTINGS,
    arch: process.arch,
    selfTest: async (folder, { withConfig }) => {
      this.done.push(`self-test ${withConfig ? 'with' : 'without'} configuration`);
      if (!this.disk.paths.includes(join(folder, 'turnstone'))) throw new Error('there is no program');
      if (this.fault !== undefined) throw new Error(this.fault);
    },
    restartAgent: async () => void this.done.push('restart'),
    reboot: async () => void this.done.push('reboot'),
    configuration: {
      configure: async ({ id }) => void this.done.push(`configure ${id}`),
      settle: async ({ id, outcome }) => void this.done.push(`settle ${id} ${outcome}`),
      isOnTrial: async () => this.isConfigurationOnTrial,
    },
    clock: this.clock,
    log: silentLog,
  };

  static async make(): Promise<RootHelperBench> {
    const bench = new RootHelperBench();
    bench.disk.put(join(SETTINGS, 'trusted-keys/a.pem'), bench.signer.publicPem);
    await bench.files.makeFolder(bench.paths.firmware, 0o750);
    await bench.adopt({ release: '1.0.0' });
    bench.done.length = 0;
    return bench;
  }

  /** As install.sh does, from a folder. */
  adopt(spec: ReleaseSpec, options: { readonly allowDowngrade: boolean } = { allowDowngrade: false }) {
    return this.adoptFiles(makeImage(spec).files, options);
  }

  async adoptFiles(
    files: ReadonlyMap<string, Uint8Array>,
    options: { readonly allowDowngrade: boolean } = { allowDowngrade: false },
  ) {
    await this.files.remove('/media/release');
    for (const [path, content] of files) this.disk.put(join('/media/release', path), content);
    return adoptRelease(this.deps, '/media/release', options, never);
  }

  image(spec: Partial<ReleaseSpec> = {}): ReleaseImage {
    return makeImage({ release: '2.0.0', key: this.signer.privateKey, ...spec });
  }

  /** Leaves a request, and an image beside it, and lets the helper do it. */
  async ask(
    request: Partial<Extract<HelperRequest, { request: 'swap' }>> = {},
    image = this.image(),
    other: Partial<ReleaseSwapDeps> = {},
  ): Promise<void> {
    this.disk.put(join(this.paths.firmware, 'image'), image.bytes);
    await this.say(guardLines({ request: 'swap', id: 'one', version: '2.0.0', source: 'image', ...request }), other);
  }

  /** The same for a release that is kept. */
  askBack(id: string, version: string): Promise<void> {
    return this.say(guardLines({ request: 'swap', id, version, source: 'kept' }));
  }

  async say(text: string, other: Partial<ReleaseSwapDeps> = {}): Promise<void> {
    this.disk.put(join(this.paths.firmware, 'request'), text);
    await answerRequest({ ...this.deps, ...other }, never);
  }

  /** The agent says that its release is well. */
  confirm(id = 'one'): void {
    this.disk.put(join(this.paths.firmware, 'confirmed'), guardLines({ id }));
  }

  async seen() {
    return {
      current: await currentVersion(this.files, this.paths),
      trial: await readTrial(this.files, this.paths),
      result: await readResult(this.files, this.paths),
    };
  }

  async releases(): Promise<string[]> {
    return [...(await this.files.list(join(this.paths.home, 'releases')))].sort();
  }

  text(path: string): string {
    return this.disk.contentOf(path).toString('utf8');
  }
}
