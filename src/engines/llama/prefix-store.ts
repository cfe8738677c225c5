import { mkdirSync, rmSync } from 'node:fs';
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../lib/clock.ts';
import { readDiskSpace } from '../../lib/read-disk-space.ts';

/** A prompt prefix whose sequence state is stored in a file. */
export interface PrefixEntry {
  readonly workspace: string;
  readonly tokens: Uint32Array;
  /** Leading tokens that a seeded run evaluated in slices of its own. Seeded runs can reuse only these. */
  readonly seededTokens: number;
  /** The file may hold more tokens than the entry; the entry is a prefix of them. */
  readonly file: string;
  readonly bytes: number;
}

/** Owner and kind of the run that looks for a prefix. */
export interface PrefixQuery {
  readonly workspace: string;
  readonly isSeeded: boolean;
}

/** The state of a sequence that is to be stored. */
export interface SequenceSnapshot {
  readonly workspace: string;
  readonly tokens: readonly number[];
  readonly seededTokens: number;
  /** Number of tokens in the file; at least as many as `tokens`. */
  readonly fileTokens: number;
}

/**
 * Storage of the explicit context cache of one engine: sequence states in files of a private folder. An entry expires a
 * fixed time after its last use.
 *
 * Entries survive the eviction of live sequences, but not the end of the process. An expired or evicted entry is
 * forgotten at once; its file is deleted in the background.
 */
export interface PrefixStore {
  /** Returns the entry that holds the longest prefix of the prompt which the run can reuse. */
  find(prompt: readonly number[], run: PrefixQuery): PrefixEntry | undefined;
  /** Returns the entry for exactly the first `length` tokens of the prompt. */
  findExact(prompt: readonly number[], length: number, run: PrefixQuery): PrefixEntry | undefined;
  /** Restarts the expiry time of an entry that was used. */
  refresh(entry: PrefixEntry): void;
  /** Removes an entry whose file is unusable. */
  drop(entry: PrefixEntry): void;
  /**
   * Stores a state that `write` puts into a file. Replaces an entry with the same tokens.
   * @returns false if it was not stored: it is too large, the disk is full, or writing failed (reported through
   *   `warn`).
   */
  save(state: SequenceSnapshot, write: (file: string) => Promise<void>): Promise<boolean>;
  /** Removes expired entries. The other methods do so too. */
  removeExpired(): void;
  /** Resolves when the files of all removed entries are deleted. */
  waitForDeletions(): Promise<void>;
}

export interface PrefixStoreOptions {
  /** A folder that belongs to this store; existing files in it are deleted. */
  readonly folder: string;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly ttlMs: number;
  readonly workspaceBytesMax: number;
  readonly workspaceEntriesMax: number;
  readonly totalBytesMax: number;
  /** Number of bytes that must stay free on the disk. */
  readonly freeBytesMin: number;
  readonly warn: (message: string) => void;
  /** Returns the free bytes of the disk; tests replace it. */
  readonly getFreeBytes?: () => Promise<number>;
}

interface StoredPrefix extends PrefixEntry {
  usedAt: number;
}

/** Counts the tokens of an entry that a run can reuse. */
export const countReusableTokens = (entry: PrefixEntry, { isSeeded }: Pick<PrefixQuery, 'isSeeded'>): number =>
  isSeeded ? entry.seededTokens : entry.tokens.length;

export function createPrefixStore(options: PrefixStoreOptions): PrefixStore {
  const { folder, clock, ttlMs, warn } = options;
  const getFreeBytes = options.getFreeBytes ?? (async () => (await readDiskSpace(folder)).freeBytes);
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const workspaces = new Map<string, StoredPrefix[]>();
  const deletions = new Set<Promise<void>>();
  let files = 0;
  /** Highest ratio seen in the files so far; 0 until the first file is written. */
  let bytesPerToken = 0;

  const listAll = (): StoredPrefix[] => [...workspaces.values()].flat();
  const getEntries = (workspace: string): readonly StoredPrefix[] => workspaces.get(workspace) ?? [];

  const remove = (file: string): void => {
    const deletion = rm(file, { force: true })
      .catch((error: unknown) => warn(`cannot delete a cached sequence state: ${String(error)}`))
      .then(() => void deletions.delete(deletion));
    deletions.add(deletion);
  };

  const drop = (entry: PrefixEntry): void => {
    const remaining = getEntries(entry.workspace).filter((other) => other !== entry);
    if (remaining.length === getEntries(entry.workspace).length) return;
    if (remaining.length > 0) workspaces.set(entry.workspace, remaining);
    else workspaces.delete(entry.workspace);
    remove(entry.file);
  };

  const expire = (): void => {
    const now = clock.monotonic();
    for (const entry of listAll()) if (now - entry.usedAt >= ttlMs) drop(entry);
  };

  /** Drops the least recently used candidates until they fit into both limits. */
  const dropOldest = (candidates: readonly StoredPrefix[], bytesMax: number, entriesMax: number): void => {
    let bytes = candidates.reduce((sum, entry) => sum + entry.bytes, 0);
    let count = candidates.length;
    for (const entry of candidates.toSorted((a, b) => a.usedAt - b.usedAt)) {
      if (bytes <= bytesMax && count <= entriesMax) return;
      drop(entry);
      bytes -= entry.bytes;
      count--;
    }
  };

  const evictForBytes = (workspace: string, bytes: number): void => {
    dropOldest(getEntries(workspace), options.workspaceBytesMax - bytes, options.workspaceEntriesMax - 1);
    dropOldest(listAll(), options.totalBytesMax - bytes, Infinity);
  };

  const find: PrefixStore['find'] = (prompt, query) => {
    expire();
    return getEntries(query.workspace)
      .toSorted((a, b) => countReusableTokens(b, query) - countReusableTokens(a, query))
      .find((entry) => countReusableTokens(entry, query) > 0 && isPrefix(entry.tokens, prompt));
  };

  const findEqual = ({ workspace, tokens }: Pick<SequenceSnapshot, 'workspace' | 'tokens'>): StoredPrefix | undefined =>
    getEntries(workspace).find((entry) => entry.tokens.length === tokens.length && isPrefix(entry.tokens, tokens));

  return {
    find,
    findExact(prompt, length, query) {
      expire();
      return getEntries(query.workspace).find(
        (entry) =>
          entry.tokens.length === length &&
          countReusableTokens(entry, query) === length &&
          isPrefix(entry.tokens, prompt),
      );
    },
    refresh(entry) {
      const stored = getEntries(entry.workspace).find((other) => other === entry);
      if (stored) stored.usedAt = clock.monotonic();
    },
    drop,
    async save(state, write) {
      expire();
      const { workspace, tokens, seededTokens, fileTokens } = state;
      const bytesMax = Math.min(options.workspaceBytesMax, options.totalBytesMax);
      const expectedBytes = Math.ceil(fileTokens * bytesPerToken);
      if (expectedBytes > bytesMax) return false;
      evictForBytes(workspace, expectedBytes);
      const file = join(folder, `${++files}.state`);
      let bytes: number;
      try {
        if ((await getFreeBytes()) < expectedBytes + options.freeBytesMin) throw new Error('the disk is nearly full');
        await write(file);
        bytes = (await stat(file)).size;
      } catch (error) {
        warn(`cannot store a sequence state: ${String(error)}`);
        remove(file);
        return false;
      }
      bytesPerToken = Math.max(bytesPerToken, bytes / fileTokens);
      if (bytes > bytesMax) {
        remove(file);
        return false;
      }
      const existing = findEqual(state);
      if (existing) drop(existing);
      evictForBytes(workspace, bytes);
      const entry = {
        workspace,
        tokens: Uint32Array.from(tokens),
        seededTokens,
        file,
        bytes,
        usedAt: clock.monotonic(),
      };
      workspaces.set(workspace, [...getEntries(workspace), entry]);
      return true;
    },
    removeExpired: expire,
    async waitForDeletions() {
      await Promise.all(deletions);
    },
  };
}

/** Compares the last token first, because most different prompts differ near the end of the prefix. */
function isPrefix(tokens: Uint32Array, prompt: readonly number[]): boolean {
  const last = tokens.length - 1;
  if (tokens.length > prompt.length || tokens[last] !== prompt[last]) return false;
  for (let at = 0; at < last; at++) if (tokens[at] !== prompt[at]) return false;
  return true;
}
