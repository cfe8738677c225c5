import { mkdirSync } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { readDiskSpace } from '../../lib/read-disk-space.ts';
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
  /**
   * @returns undefined if the state is not saved: all states together would be too large, or the disk would be nearly full.
   *   Both are checked before the state is written, as far as its size can be predicted.
   */
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
  /** Number of bytes that must stay free on the disk. */
  readonly freeBytesMin: number;
  /** Returns the free bytes of the disk; tests replace it. */
  readonly getFreeBytes?: () => Promise<number>;
}

export function createPausedStates({
  model,
  cells,
  folder,
  bytesMax,
  freeBytesMin,
  getFreeBytes = async () => (await readDiskSpace(folder)).freeBytes,
}: PausedStatesOptions): PausedStates {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const sizes = createSizePrediction();
  let bytesTotal = 0;
  let count = 0;
  const remove = (file: string): Promise<void> => rm(file, { force: true }).catch(() => undefined);

  return {
    async save(slot) {
      const file = join(folder, `${++count}.state`);
      try {
        const expectedBytes = sizes.predict(slot.tokens.length);
        if (bytesTotal + expectedBytes > bytesMax) throw new Error('too many saved states');
        if ((await getFreeBytes()) < expectedBytes + freeBytesMin) throw new Error('the disk is nearly full');
        await model.saveState(slot.sequence, slot.tokens, file);
        const { size: bytes } = await stat(file);
        sizes.record({ tokens: slot.tokens.length, bytes });
        if (bytesTotal + bytes > bytesMax) throw new Error('too many saved states');
        bytesTotal += bytes;
        return { file, bytes, seededTokens: slot.seededTokens, slot, slotUsedAt: slot.usedAt };
      } catch {
        await remove(file);
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
      void remove(file);
    },
  };
}

interface StateSize {
  readonly tokens: number;
  readonly bytes: number;
}

/**
 * Predicts the size of a state from the smallest and the largest so far: a state has a fixed part, which is large in some
 * models, and one that grows with its tokens.
 */
function createSizePrediction() {
  let smallest: StateSize | undefined;
  let largest: StateSize | undefined;
  return {
    record(size: StateSize): void {
      if (!smallest || size.tokens < smallest.tokens) smallest = size;
      if (!largest || size.tokens > largest.tokens) largest = size;
    },
    /** Returns 0 before the first state, and the least possible size before the second. */
    predict(tokens: number): number {
      if (!smallest || !largest) return 0;
      if (smallest.tokens === largest.tokens) return smallest.bytes * Math.min(1, tokens / smallest.tokens);
      const bytesPerToken = (largest.bytes - smallest.bytes) / (largest.tokens - smallest.tokens);
      return Math.ceil(smallest.bytes + (tokens - smallest.tokens) * bytesPerToken);
    },
  };
}
