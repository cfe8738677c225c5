import type { NativeModel } from './native-model.ts';
import { SEEDED_SLICE_TOKENS } from './slots.ts';
import type { Slot } from './slots.ts';

/** Keeps what a slot says of its cells true to the cells. */
export interface Cells {
  clear(slot: Slot): void;
  /** Forgets what lies behind the first `length` tokens. A model that cannot forgets all. */
  truncate(slot: Slot, length: number): void;
  copy(from: Slot, to: Slot): Promise<void>;
  /** Fills the slot with what a file holds. @throws Error when it cannot be read: the slot is empty then. */
  load(slot: Slot, file: string, seededTokens: number): Promise<void>;
}

/** @param stateFile Where copied states pass through. */
export function createCells(model: NativeModel, stateFile: string): Cells {
  const clear = (slot: Slot): void => {
    model.clear(slot.sequence);
    slot.tokens = [];
    slot.seededTokens = 0;
  };
  return {
    clear,
    truncate(slot, length) {
      if (length === 0 || !model.truncate(slot.sequence, length)) return clear(slot);
      slot.tokens.length = length;
      slot.seededTokens = Math.min(slot.seededTokens, wholeSlices(length));
    },
    async copy(from, to) {
      model.clear(to.sequence);
      await model.copy(from.sequence, to.sequence, from.tokens, stateFile);
      to.tokens = [...from.tokens];
      to.seededTokens = from.seededTokens;
    },
    async load(slot, file, seededTokens) {
      clear(slot);
      try {
        slot.tokens = await model.loadState(slot.sequence, file);
        slot.seededTokens = seededTokens;
      } catch (error) {
        clear(slot);
        throw error;
      }
    },
  };
}

/** What of so many tokens a seeded run has evaluated in slices of full size. */
export const wholeSlices = (tokens: number): number => tokens - (tokens % SEEDED_SLICE_TOKENS);
