/** Largest numbers of items, far above what one board has pins, buses and time for. */
export const MAX_ITEMS = { devices: 1_000, sensors: 1_000, actuators: 500, rules: 500 } as const;
