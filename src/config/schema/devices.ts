/** Attached devices: each is a device of its own on the platform, with a token of its own. An entry is a slot, to which sensors and actuators belong. */
import { z } from 'zod';
import { ACCESS_TOKEN, list, name, pattern, secretFields, section, text } from '../fields/fields.ts';
import { slotName } from '../fields/slot-name.ts';

/** The name on the platform where none is given: one for each place, and one for each thing where it tells who it is. */
const NAME_BY_PLACE = '{gateway} {name}';
const NAME_BY_THING = '{gateway} {serialNumber}';

const deviceNameWithPlaceholders = () =>
  text(
    /^[^<>\p{Cc}]{1,255}$/u,
    'a device name of 1 to 255 characters; {gateway}, {name}, {label}, {serialNumber} and choices such as {serialNumber|name} are replaced',
  );

const deviceSection = section({
  /** Local name of the slot: sensors and actuators refer to it by `device`. */
  name: slotName(),
  /** Name on the platform; default `{gateway} {name}`, with a serial number `{gateway} {serialNumber}`. */
  deviceName: deviceNameWithPlaceholders().optional(),
  /** Shown to people in place of the name. It changes the name on the platform only where `deviceName` has `{label}` in it. */
  label: text(/^[^<>\p{Cc}]{1,255}$/u, 'a label of 1 to 255 characters').optional(),
  /** Value read from the thing itself, so that a swapped one is another device, and a moved one the same. */
  serialNumber: section({
    /** Default: the only sensor of this device. */
    sensor: name().optional(),
    /** The key as local rules see it: after rename, reported or not. */
    key: z.string().min(1).max(255),
    /** The whole value must match. */
    pattern: pattern().optional(),
  }).optional(),
  /** Key and secret of a device profile; default: the gateway's. */
  provisioning: section({ ...secretFields('key'), ...secretFields('secret') }).optional(),
  ...secretFields('accessToken', ACCESS_TOKEN),
  /** Titles of `firmware.handlers` that install its packages; the gateway's own offers do not reach these. */
  firmware: section({ handlers: list(z.string().min(1).max(255), { max: 32 }) }).optional(),
});

export const deviceSchema = deviceSection.transform(withDefaults);

type Written = z.infer<typeof deviceSection>;
export interface SerialNumberConfig extends Pick<NonNullable<Written['serialNumber']>, 'key' | 'pattern'> {
  /** Empty in a draft of a device that has no sensor, or several, and names none of them. */
  readonly sensor: string;
}
export type DeviceConfig = Omit<Written, 'deviceName' | 'serialNumber'> & {
  /** A template. */
  readonly deviceName: string;
  readonly serialNumber?: SerialNumberConfig;
};

/** The sensor of a serial number is filled in later, by who knows all sensors: `withSerialSensors`. */
function withDefaults({ deviceName, serialNumber, ...device }: Written): DeviceConfig {
  return {
    ...device,
    deviceName: deviceName ?? (serialNumber === undefined ? NAME_BY_PLACE : NAME_BY_THING),
    serialNumber: serialNumber && { ...serialNumber, sensor: serialNumber.sensor ?? '' },
  };
}
