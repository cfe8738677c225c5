import { ServiceError } from '../../../core/error.ts';

/** Limits how many recognitions run at a time, without a queue. */
export interface RecognitionLimit {
  /** @returns A function that releases the slot. @throws ServiceError `overloaded` if no slot is free. */
  acquire(): () => void;
}

export function createRecognitionLimit(max: number): RecognitionLimit {
  let running = 0;
  return {
    acquire() {
      if (running >= max) {
        const subject = max === 1 ? 'Another recognition is' : `${max} recognitions are`;
        throw new ServiceError('overloaded', `${subject} running, which is the limit. Try again later.`);
      }
      running += 1;
      let isHeld = true;
      return () => {
        if (isHeld) running -= 1;
        isHeld = false;
      };
    },
  };
}
