/** Id of the gateway among its devices, in entries and wherever else a device is named. */
export const SELF = 'self';
