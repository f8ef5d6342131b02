/** Contact with the platform and pace of requests, as many devices beside the gateway make and need them. */
import type { Contact, ContactObserver } from './contact.ts';
import type { HostPace } from './host-pace.ts';

/** Tells that the platform answers, and never that one of many is refused or slow. */
export function contactOfMany(contact: ContactObserver & Pick<Contact, 'isRefused'>): ContactObserver {
  return {
    answered: (verdict, answer, place) => {
      // A refused gateway stays refused, even while other devices are answered.
      if (verdict.kind !== 'unauthorised' && !contact.isRefused) contact.answered(verdict, answer, place);
    },
    failed: () => {},
    acknowledged: () => contact.acknowledged(),
  };
}

/**
 * Pace of one device's requests. While the platform is away only uploads ask whether it is back, one device at a time; hundreds of polls would
 * take the turns of the gateway.
 */
export function paceOfMany(pace: HostPace, contact: Pick<Contact, 'untilReached'>): Pick<HostPace, 'paceRequest'> {
  const own = pace.ofAnotherClient();
  return {
    paceRequest: async (way, request, signal) => {
      if (way !== 'upload') await contact.untilReached(signal);
      return await own.paceRequest(way, request, signal);
    },
  };
}
