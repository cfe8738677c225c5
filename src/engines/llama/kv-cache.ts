import type { NativeModel } from './native-model.ts';
import { SEEDED_SLICE_TOKENS, type Slot } from './slot-pool.ts';

/** Changes the KV cells of slots, and keeps each slot's record of its cells consistent. */
export interface KvCache {
  clear(slot: Slot): void;
  /** Removes everything after the first `length` tokens. Clears the slot if the model cannot truncate. */
  truncate(slot: Slot, length: number): void;
  copy(from: Slot, to: Slot): Promise<void>;
  /** Loads a saved state into the slot. @throws Error if the file cannot be read; the slot is empty then. */
  load(slot: Slot, file: string, seededTokens: number): Promise<void>;
}

/** @param stateFile File through which states are copied. */
export function createKvCache(model: NativeModel, stateFile: string): KvCache {
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
      slot.seededTokens = Math.min(slot.seededTokens, roundDownToSlice(length));
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

/** Rounds a number of tokens down to full slices of a seeded run. */
export const roundDownToSlice = (tokens: number): number => tokens - (tokens % SEEDED_SLICE_TOKENS);
