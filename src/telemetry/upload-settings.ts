/** Limits and pace of uploads, as configuration and link have them now. */
import type { AgentConfig } from '../config/schema/agent-config.ts';
import type { UploadSettings } from './uploader.ts';

/** On a dear link the present may have to wait for the next wake. */
export function uploadSettings({ upload, outbox }: Pick<AgentConfig, 'upload' | 'outbox'>, waitMs = 0): UploadSettings {
  return {
    ...upload,
    intervalMs: Math.max(upload.intervalMs, waitMs),
    backlogRatePerS: outbox.backlogRatePerS,
  };
}
