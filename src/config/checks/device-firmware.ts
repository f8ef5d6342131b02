/** Packages for attached devices: each title is of a handler that exists. */
import { didYouMeanWhenTold, oneOf } from '../fields/did-you-mean.ts';
import { doubled, type Finding, finding, findingAtKey } from '../fields/findings.ts';
import type { Check } from './draft.ts';

/** Finds handlers that are not there. */
export const checkDeviceFirmware: Check = ({ devices, sections: { firmware } }) => {
  if (firmware === undefined) return [];
  const titles = new Set(firmware.handlers.map(({ title }) => title));
  const expected = titles.size === 0 ? 'a handler under firmware.handlers' : oneOf([...titles]);
  return devices.flatMap(({ config, path }): Finding[] => {
    if (config.firmware === undefined) return [];
    const at = [...path, 'firmware', 'handlers'];
    const unknown = config.firmware.handlers.flatMap((title, index) =>
      titles.has(title)
        ? []
        : [{ ...finding([...at, index], 'no handler has the title', expected), ...didYouMeanWhenTold(title, titles) }],
    );
    return [
      ...unknown,
      ...(config.firmware.handlers.length === 0 ? [findingAtKey(at, 'no handler is named', expected)] : []),
      ...doubled(config.firmware.handlers, at),
      ...(firmware.enabled
        ? []
        : [
            {
              ...findingAtKey([...path, 'firmware'], 'no package is taken, as firmware.enabled is false', 'true'),
              warning: true,
            },
          ]),
    ];
  });
};
