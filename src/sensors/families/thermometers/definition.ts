/** What the definitions of thermometers with one register share: the one key they give. */
export const UNITS = { temperature: '°C' } as const;
