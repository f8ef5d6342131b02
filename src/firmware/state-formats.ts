/**
 * The formats of every file below the state folder, by the names that the rooms give them: which versions this release reads; it writes
 * the last. A test compares the list with the rooms' own words. While a release is unconfirmed the one before may have to read what it
 * wrote, so a format is only ever extended, and a new version is first read for one release before another writes it.
 */
export const STATE_FORMATS: Readonly<Record<string, readonly number[]>> = {
  'turnstone-bands': [1],
  'turnstone-outbox-segment': [1],
  'turnstone-outbox-delivery': [1],
  'turnstone-outbox-rejected': [1],
  'turnstone-outbox-ledger': [1],
  'turnstone-outbox-boots': [1],
  'turnstone-outbox-dead-letters': [1],
  'turnstone-counter': [1],
  'turnstone-download': [1],
  'turnstone-firmware-journal': [1],
  'turnstone/claim': [1],
  'turnstone/credentials': [1],
  'turnstone/link': [1],
  'turnstone/device-names': [1],
  'turnstone/operating-times': [1],
  'turnstone/outputs': [1],
  'turnstone/pulses': [1],
  'turnstone/rpc-journal': [1, 2],
  'turnstone/shared-attributes': [1],
  'turnstone/remote-configuration': [1],
  'turnstone/standing-states': [1],
  'turnstone/timeline': [1],
};

/** Formats of releases that may still be updated, without whose files nothing is lost that a release needs: it can follow one that has them. */
export const GIVEN_UP_FORMATS: Readonly<Record<string, readonly number[]>> = {
  'turnstone/actuators': [1],
  'turnstone/daily-budget': [1],
  'turnstone/standing-rules': [1],
};
