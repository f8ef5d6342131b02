/** A platform's provisioning side in memory, with the faults of a network: what it holds is the judge. */
import type { ProvisionAnswer, ProvisionRequest } from '../../../src/platform/device-api.ts';
import { PlatformError } from '../../../src/platform/platform-error.ts';

export interface FakePlatformOptions {
  /** Ignores the token a device proposes, as servers that know only the contract do. */
  readonly makesTokens?: boolean;
  readonly deviceKey?: string;
  readonly deviceSecret?: string;
}

export class FakePlatform {
  /** Token by device name. */
  readonly devices = new Map<string, string>();
  readonly requests: ProvisionRequest[] = [];
  readonly tried: string[] = [];
  deviceSecret: string;
  readonly #options: FakePlatformOptions;
  /** Answers that get lost on their way, or never were given. */
  #faults: ('no-connection' | 'answer-lost')[] = [];

  constructor(options: FakePlatformOptions = {}) {
    this.#options = options;
    this.deviceSecret = options.deviceSecret ?? 'secret-1';
  }

  fail(...faults: ('no-connection' | 'answer-lost')[]): void {
    this.#faults.push(...faults);
  }

  readonly provision = async (request: ProvisionRequest): Promise<ProvisionAnswer> => {
    const fault = this.#faults.shift();
    if (fault === 'no-connection') throw new PlatformError('busy', 'cannot reach the platform: connection refused');
    this.requests.push(request);
    const answer = this.#answer(request);
    if (fault === 'answer-lost') throw new PlatformError('busy', 'cannot reach the platform: connection reset');
    return answer;
  };

  readonly tokenWorks = async (token: string): Promise<boolean> => {
    this.tried.push(token);
    return [...this.devices.values()].includes(token);
  };

  #answer(request: ProvisionRequest): ProvisionAnswer {
    if (
      request.provisionDeviceKey !== (this.#options.deviceKey ?? 'key-1') ||
      request.provisionDeviceSecret !== this.deviceSecret
    )
      return { status: 'NOT_FOUND', errorMsg: 'Provision data was not found!' };
    if (this.devices.has(request.deviceName)) return { status: 'FAILURE', errorMsg: 'Failed to provision device!' };
    const token =
      this.#options.makesTokens === true || request.token === undefined
        ? `made-${this.devices.size + 1}-by-server`
        : request.token;
    this.devices.set(request.deviceName, token);
    return { status: 'SUCCESS', credentialsType: 'ACCESS_TOKEN', credentialsValue: token };
  }
}
