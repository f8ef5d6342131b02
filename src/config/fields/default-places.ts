/** Where an installed agent has its configuration and folders. */
export const DEFAULT_CONFIG_FILE = '/etc/turnstone/turnstone.yaml';
export const DEFAULT_STATE_FOLDER = '/var/lib/turnstone';
export const DEFAULT_RUN_FOLDER = '/run/turnstone';
