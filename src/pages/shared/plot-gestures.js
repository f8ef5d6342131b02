/** Fingers, wheel and keys over a chart, as moves of its span and of its cursor. */

const STEPS_BY_KEY = {
  ArrowLeft: -1,
  ArrowRight: 1,
  PageUp: -10,
  PageDown: 10,
  Home: Number.NEGATIVE_INFINITY,
  End: Number.POSITIVE_INFINITY,
};
export const ZOOM = 2;
export const PAN = 0.5;
const WHEEL_ZOOM = 1.25;
const WHEEL_PAN = 0.1;

/** `zoom(factor, share)` keeps what lies at that share of the width; `pan(share)`; `step(count)` goes from value to value; `point(share)`. */
export function watchGestures(area, { zoom, pan, step, point }) {
  const fingers = new Map();
  const shareOf = (clientX) => {
    const over = area.querySelector('.u-over')?.getBoundingClientRect();
    return over === undefined ? 0.5 : Math.min(1, Math.max(0, (clientX - over.left) / over.width));
  };
  area.addEventListener('keydown', (event) => {
    const act = ofKey(event, { zoom, pan, step });
    if (act === undefined) return;
    event.preventDefault();
    act();
  });
  area.addEventListener(
    'wheel',
    (event) => {
      if (!event.ctrlKey && !event.shiftKey) return;
      event.preventDefault();
      const isForward = (event.deltaY || event.deltaX) > 0;
      if (event.ctrlKey) zoom(isForward ? WHEEL_ZOOM : 1 / WHEEL_ZOOM, shareOf(event.clientX));
      else pan(isForward ? WHEEL_PAN : -WHEEL_PAN);
    },
    { passive: false },
  );
  area.addEventListener('pointerdown', (event) => {
    if (event.pointerType !== 'touch') return;
    fingers.set(event.pointerId, shareOf(event.clientX));
    if (fingers.size === 1) point(shareOf(event.clientX));
  });
  area.addEventListener('pointermove', (event) => {
    if (!fingers.has(event.pointerId)) return;
    const before = [...fingers.values()];
    fingers.set(event.pointerId, shareOf(event.clientX));
    const after = [...fingers.values()];
    if (after.length === 1) point(after[0]);
    if (after.length === 2) pinch(before, after, { zoom, pan });
  });
  for (const end of ['pointerup', 'pointercancel', 'pointerleave'])
    area.addEventListener(end, ({ pointerId }) => {
      fingers.delete(pointerId);
    });
}

/** Two fingers keep hold of what lies between them. */
function pinch(before, after, { zoom, pan }) {
  const middle = ([a, b]) => (a + b) / 2;
  const apart = ([a, b]) => Math.max(0.05, Math.abs(a - b));
  if (middle(before) !== middle(after)) pan(middle(before) - middle(after));
  if (apart(before) !== apart(after)) zoom(apart(before) / apart(after), middle(after));
}

function ofKey({ key, shiftKey, ctrlKey, metaKey, altKey }, { zoom, pan, step }) {
  // They are the browser's own.
  if (ctrlKey || metaKey || altKey) return undefined;
  if (key === '+' || key === '=') return () => zoom(1 / ZOOM);
  if (key === '-') return () => zoom(ZOOM);
  if (shiftKey && key === 'ArrowLeft') return () => pan(-PAN);
  if (shiftKey && key === 'ArrowRight') return () => pan(PAN);
  const count = STEPS_BY_KEY[key];
  return count === undefined ? undefined : () => step(count);
}
