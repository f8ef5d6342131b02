/** Look of a plot's lines: four that differ without colour too. */

export const DASHES = [[], [9, 4], [2, 3], [12, 3, 2, 3]];

export function colourOf(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

export const lineColour = ({ slot }) => colourOf(`--plot-${slot + 1}`);
