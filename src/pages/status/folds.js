/** Folded parts stay as this browser left them. */

const NAME = 'turnstone-open';

export function prepareFolds() {
  const open = new Set(read());
  for (const fold of document.querySelectorAll('details.fold')) {
    if (open.has(fold.id)) fold.open = true;
    fold.addEventListener('toggle', () => {
      if (fold.open) open.add(fold.id);
      else open.delete(fold.id);
      write([...open]);
    });
  }
}

/** A browser may keep nothing for anybody. */
function read() {
  try {
    const kept = JSON.parse(localStorage.getItem(NAME) ?? '[]');
    return Array.isArray(kept) ? kept : [];
  } catch {
    return [];
  }
}

function write(names) {
  try {
    localStorage.setItem(NAME, JSON.stringify(names));
  } catch {
    // As above.
  }
}
