import { ServiceError } from '../../core/error.ts';

/** How many may do something at a time. */
export interface Places {
  /** @returns What gives it back. @throws ServiceError `overloaded` when all are taken. */
  take(): () => void;
}

export function createPlaces(max: number): Places {
  let taken = 0;
  return {
    take() {
      if (taken >= max) {
        const all = max === 1 ? 'Another recognition is' : `${max} recognitions are`;
        throw new ServiceError('overloaded', `${all} running, as many as there may be at a time. Try again later.`);
      }
      taken += 1;
      let isTaken = true;
      return () => {
        if (isTaken) taken -= 1;
        isTaken = false;
      };
    },
  };
}
