/** Every check of a configuration that looks at nothing outside it, in the order in which their faults of one place are told. */
import { checkPlatformAccess, checkProvisioning, checkRemoteConfiguration, checkStatusPage } from './access.ts';
import { checkLimits, checkMethodValues, checkRuleValues, checkSafeStates } from './actuators.ts';
import {
  checkActuatorTimes,
  checkAlarms,
  checkDeliveryTimes,
  checkFirmwareBounds,
  checkSensorTimes,
  checkShapes,
} from './bounds.ts';
import { checkClasses } from './classes.ts';
import { checkConversions } from './conversions.ts';
import { checkDeviceFirmware } from './device-firmware.ts';
import {
  checkDeviceAccess,
  checkDeviceCommands,
  checkDeviceNames,
  checkSerialNumbers,
  checkUnusedDevices,
} from './devices.ts';
import type { Check } from './draft.ts';
import { checkLockoutFile, checkSockets } from './files.ts';
import {
  checkAddedKeys,
  checkAttributeKeys,
  checkClientAttributes,
  checkFixedAttributes,
  checkKeyRules,
  checkMethodKeys,
  checkPossibleKeys,
  checkProducedKeys,
  checkReservedKeys,
  checkRuleKeys,
  checkTextKeys,
} from './keys.ts';
import { checkKinds } from './kinds.ts';
import { checkDisabled, checkDoubled, checkNames, checkReferences } from './references.ts';
import { checkAlarmConditions, checkAlarmTypes, checkConditions, checkLostSensors, checkRuleTypes } from './rules.ts';
import { checkDeviceName, checkPlaceholders } from './templates.ts';
import {
  checkBias,
  checkBoard,
  checkBrokers,
  checkBuses,
  checkLines,
  checkNamedLines,
  checkSharedLines,
} from './used-twice.ts';

const NAMES = [checkNames, checkDoubled, checkReferences, checkDisabled];
const PLACES = [
  checkLines,
  checkBuses,
  checkNamedLines,
  checkBrokers,
  checkSharedLines,
  checkBias,
  checkBoard,
  checkSockets,
  checkLockoutFile,
];
const KEYS = [
  checkKeyRules,
  checkProducedKeys,
  checkPossibleKeys,
  checkAttributeKeys,
  checkFixedAttributes,
  checkReservedKeys,
  checkClientAttributes,
  checkAddedKeys,
  checkRuleKeys,
  checkMethodKeys,
  checkTextKeys,
  checkClasses,
];
const TIMES = [
  checkSensorTimes,
  checkLostSensors,
  checkActuatorTimes,
  checkDeliveryTimes,
  checkAlarms,
  checkAlarmConditions,
  checkAlarmTypes,
];
const VALUES = [
  checkKinds,
  checkConversions,
  checkLimits,
  checkSafeStates,
  checkConditions,
  checkRuleValues,
  checkRuleTypes,
  checkMethodValues,
];
const ACCESS = [
  checkPlaceholders,
  checkDeviceName,
  checkShapes,
  checkFirmwareBounds,
  checkPlatformAccess,
  checkProvisioning,
  checkStatusPage,
  checkRemoteConfiguration,
];

const DEVICES = [
  checkSerialNumbers,
  checkDeviceNames,
  checkDeviceAccess,
  checkDeviceCommands,
  checkDeviceFirmware,
  checkUnusedDevices,
];

export const CHECKS: readonly Check[] = [...NAMES, ...DEVICES, ...PLACES, ...KEYS, ...TIMES, ...VALUES, ...ACCESS];

/** Checks of what is written, not of what is missing: they are right also of a section or item of which a part was left out. */
export const CHECKS_OF_PARTS: readonly Check[] = [checkNames, checkDoubled, ...PLACES, ...KEYS, checkPlatformAccess];
