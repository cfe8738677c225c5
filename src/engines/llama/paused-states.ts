import { mkdirSync } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { KvCache } from './kv-cache.ts';
import type { NativeModel } from './native-model.ts';
import type { Slot } from './slot-pool.ts';

/** The saved state of an interrupted choice. */
export interface PausedState {
  readonly file: string;
  readonly bytes: number;
  /** Leading tokens that a seeded run evaluated in slices of its own. */
  readonly seededTokens: number;
  /** The slot that still holds the state, if nothing has used it since. */
  readonly slot: Slot;
  readonly slotUsedAt: number;
}

/**
 * Saves the sequences of interrupted choices in files, so that they continue exactly where they stopped: evaluating the
 * tokens again takes a hundred times as long, and can change the last bits of the results.
 */
export interface PausedStates {
  /** @returns undefined if the state is not saved: all states together would be too large, or the disk is full. */
  save(slot: Slot): Promise<PausedState | undefined>;
  /** Loads a state into the slot. @returns false if its file is unusable; the slot is empty then. */
  load(state: PausedState, slot: Slot): Promise<boolean>;
  /** Deletes the file of a state that is not needed any more. */
  drop(state: PausedState): void;
}

export interface PausedStatesOptions {
  readonly model: Pick<NativeModel, 'saveState'>;
  readonly cells: Pick<KvCache, 'load'>;
  /** A folder of its own; created if missing. */
  readonly folder: string;
  /** Bytes of all saved states together. */
  readonly bytesMax: number;
}

export function createPausedStates({ model, cells, folder, bytesMax }: PausedStatesOptions): PausedStates {
  mkdirSync(folder, { recursive: true });
  let bytesTotal = 0;
  let count = 0;
  const remove = (file: string): void => void rm(file, { force: true }).catch(() => undefined);

  return {
    async save(slot) {
      const file = join(folder, `${++count}.state`);
      try {
        await model.saveState(slot.sequence, slot.tokens, file);
        const { size: bytes } = await stat(file);
        if (bytesTotal + bytes > bytesMax) throw new Error('too many saved states');
        bytesTotal += bytes;
        return { file, bytes, seededTokens: slot.seededTokens, slot, slotUsedAt: slot.usedAt };
      } catch {
        remove(file);
        return undefined;
      }
    },
    async load({ file, seededTokens }, slot) {
      try {
        await cells.load(slot, file, seededTokens);
        return true;
      } catch {
        return false;
      }
    },
    drop({ file, bytes }) {
      bytesTotal -= bytes;
      remove(file);
    },
  };
}
