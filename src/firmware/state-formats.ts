/**
 * The formats of every file below the state folder, as the rooms that own them define them: which versions this release reads; it writes
 * the last. A test compares the list with the rooms. While a release is unconfirmed the one before may have to read what it
 * wrote, so a format is only ever extended, and a new version is first read for one release before another writes it.
 */
export const STATE_FORMATS: Readonly<Record<string, readonly number[]>> = {
  'firmware-journal': [1],
};
