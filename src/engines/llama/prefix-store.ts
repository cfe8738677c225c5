import { mkdirSync, rmSync } from 'node:fs';
import { rm, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../lib/clock.ts';

/** A beginning of a prompt whose state lies in a file. */
export interface PrefixEntry {
  readonly workspace: string;
  readonly tokens: Uint32Array;
  /** Leading tokens that a seeded run evaluated in its own slices: only these serve such runs. */
  readonly seededTokens: number;
  /** May hold more tokens than the entry; it begins with them. */
  readonly file: string;
  readonly bytes: number;
}

/** Whose run asks, and of which sort it is. */
export interface PrefixRun {
  readonly workspace: string;
  readonly isSeeded: boolean;
}

/** What is to be kept of a sequence. */
export interface PrefixState {
  readonly workspace: string;
  readonly tokens: readonly number[];
  readonly seededTokens: number;
  /** Tokens that the file will hold; as many as `tokens` or more. */
  readonly stateTokens: number;
}

/**
 * The explicit cache of one engine: sequence states in files of a closed folder, each for a while since its last use.
 *
 * It survives the eviction of live sequences, not the end of the process. What expires or has to make room is forgotten
 * at once; its file goes in the background.
 */
export interface PrefixStore {
  /** The entry that holds most of this prompt for such a run. */
  find(prompt: readonly number[], run: PrefixRun): PrefixEntry | undefined;
  /** The entry of exactly the prompt's first `length` tokens. */
  findExact(prompt: readonly number[], length: number, run: PrefixRun): PrefixEntry | undefined;
  /** It was used: its time begins anew. */
  refresh(entry: PrefixEntry): void;
  /** Its file turned out to be useless. */
  drop(entry: PrefixEntry): void;
  /**
   * Keeps a state that `write` puts into a file. One of the same tokens is replaced.
   * @returns false where it is not kept: too large, no room on the disk, or it could not be written (then `warn` heard of it).
   */
  save(state: PrefixState, write: (file: string) => Promise<void>): Promise<boolean>;
  /** Forgets what has expired. Every other call does so too. */
  sweep(): void;
  /** Resolves when the files of what was forgotten are gone. */
  settled(): Promise<void>;
}

export interface PrefixStoreOptions {
  /** Its own; whatever lies there is deleted. */
  readonly folder: string;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly keepMs: number;
  readonly workspaceBytesMax: number;
  readonly workspaceEntriesMax: number;
  readonly totalBytesMax: number;
  /** Bytes to be left free on the disk. */
  readonly reserveBytes: number;
  readonly warn: (message: string) => void;
  /** Free bytes of the disk. */
  readonly freeBytes?: () => Promise<number>;
}

interface Kept extends PrefixEntry {
  usedAt: number;
}

/** Tokens of an entry that serve such a run. */
export const servingTokens = (entry: PrefixEntry, { isSeeded }: Pick<PrefixRun, 'isSeeded'>): number =>
  isSeeded ? entry.seededTokens : entry.tokens.length;

export function createPrefixStore(options: PrefixStoreOptions): PrefixStore {
  const { folder, clock, keepMs, warn } = options;
  const freeBytes = options.freeBytes ?? (() => freeBytesOf(folder));
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const workspaces = new Map<string, Kept[]>();
  const deletions = new Set<Promise<void>>();
  let files = 0;
  /** Learned from the files so far; the first is written to see. */
  let bytesPerToken = 0;

  const everything = (): Kept[] => [...workspaces.values()].flat();
  const entriesOf = (workspace: string): readonly Kept[] => workspaces.get(workspace) ?? [];

  const remove = (file: string): void => {
    const deletion = rm(file, { force: true })
      .catch((error: unknown) => warn(`a kept state could not be deleted: ${String(error)}`))
      .then(() => void deletions.delete(deletion));
    deletions.add(deletion);
  };

  const drop = (entry: PrefixEntry): void => {
    const left = entriesOf(entry.workspace).filter((other) => other !== entry);
    if (left.length === entriesOf(entry.workspace).length) return;
    if (left.length > 0) workspaces.set(entry.workspace, left);
    else workspaces.delete(entry.workspace);
    remove(entry.file);
  };

  const sweep = (): void => {
    const now = clock.monotonic();
    for (const entry of everything()) if (now - entry.usedAt >= keepMs) drop(entry);
  };

  /** Drops the oldest of these until they leave room for so much more. */
  const dropOldest = (of: readonly Kept[], bytesMax: number, entriesMax: number): void => {
    let bytes = of.reduce((sum, entry) => sum + entry.bytes, 0);
    let count = of.length;
    for (const entry of of.toSorted((a, b) => a.usedAt - b.usedAt)) {
      if (bytes <= bytesMax && count <= entriesMax) return;
      drop(entry);
      bytes -= entry.bytes;
      count--;
    }
  };

  const makeRoom = (workspace: string, bytes: number): void => {
    dropOldest(entriesOf(workspace), options.workspaceBytesMax - bytes, options.workspaceEntriesMax - 1);
    dropOldest(everything(), options.totalBytesMax - bytes, Infinity);
  };

  const find: PrefixStore['find'] = (prompt, run) => {
    sweep();
    return entriesOf(run.workspace)
      .toSorted((a, b) => servingTokens(b, run) - servingTokens(a, run))
      .find((entry) => servingTokens(entry, run) > 0 && isBeginning(entry.tokens, prompt));
  };

  const findSame = ({ workspace, tokens }: Pick<PrefixState, 'workspace' | 'tokens'>): Kept | undefined =>
    entriesOf(workspace).find((entry) => entry.tokens.length === tokens.length && isBeginning(entry.tokens, tokens));

  return {
    find,
    findExact(prompt, length, run) {
      sweep();
      return entriesOf(run.workspace).find(
        (entry) =>
          entry.tokens.length === length && servingTokens(entry, run) === length && isBeginning(entry.tokens, prompt),
      );
    },
    refresh(entry) {
      const kept = entriesOf(entry.workspace).find((other) => other === entry);
      if (kept) kept.usedAt = clock.monotonic();
    },
    drop,
    async save(state, write) {
      sweep();
      const { workspace, tokens, seededTokens, stateTokens } = state;
      const bytesMax = Math.min(options.workspaceBytesMax, options.totalBytesMax);
      const expected = Math.ceil(stateTokens * bytesPerToken);
      if (expected > bytesMax) return false;
      makeRoom(workspace, expected);
      const file = join(folder, `${++files}.state`);
      let bytes: number;
      try {
        if ((await freeBytes()) < expected + options.reserveBytes) throw new Error('the disk is nearly full');
        await write(file);
        bytes = (await stat(file)).size;
      } catch (error) {
        warn(`a state could not be kept: ${String(error)}`);
        remove(file);
        return false;
      }
      bytesPerToken = Math.max(bytesPerToken, bytes / stateTokens);
      if (bytes > bytesMax) {
        remove(file);
        return false;
      }
      const same = findSame(state);
      if (same) drop(same);
      makeRoom(workspace, bytes);
      const entry = {
        workspace,
        tokens: Uint32Array.from(tokens),
        seededTokens,
        file,
        bytes,
        usedAt: clock.monotonic(),
      };
      workspaces.set(workspace, [...entriesOf(workspace), entry]);
      return true;
    },
    sweep,
    async settled() {
      await Promise.all(deletions);
    },
  };
}

/** Most that differ do so at their ends, which are looked at first. */
function isBeginning(tokens: Uint32Array, prompt: readonly number[]): boolean {
  const last = tokens.length - 1;
  if (tokens.length > prompt.length || tokens[last] !== prompt[last]) return false;
  for (let at = 0; at < last; at++) if (tokens[at] !== prompt[at]) return false;
  return true;
}

async function freeBytesOf(folder: string): Promise<number> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
}
