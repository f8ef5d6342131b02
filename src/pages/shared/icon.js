/** Icons as elements; they stand beside words that say the same. */
import { ICONS } from '../names/icons.js';

const SVG = 'http://www.w3.org/2000/svg';

/** Returns the icon of that name, or undefined where there is none. */
export function drawIcon(name) {
  if (name === undefined || !Object.hasOwn(ICONS, name)) return undefined;
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('class', 'icon');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS(SVG, 'path');
  path.setAttribute('d', ICONS[name]);
  svg.append(path);
  return svg;
}
