/** Contact with the platform as exchanges of attached devices tell it: that it answers, and never that one of them is refused or slow. */
import type { ContactObserver } from '../../platform/contact.ts';

export function attachedContact(contact: ContactObserver): ContactObserver {
  return {
    answered: (verdict, answer, place) => {
      if (verdict.kind !== 'unauthorised') contact.answered(verdict, answer, place);
    },
    failed: () => {},
    acknowledged: () => contact.acknowledged(),
  };
}
