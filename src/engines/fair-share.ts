import { YIELD_MS, ROTATION_MS } from './limits.ts';
import type { EngineOwner } from './engine.ts';

// Fair shares of running work. The queues decide who starts next; these rules decide who must stop for it. The embedded
// engine, the scripted engine and the slots of servers use them.

/** A sequence, or a slot of a server, in use. */
export interface BusySequence {
  readonly owner: EngineOwner;
  /** Time when the run got it, in monotonic ms. */
  readonly since: number;
}

/** A request or an interrupted run that needs a sequence. */
export interface SequenceClaim {
  readonly owner: EngineOwner;
  /** Time when a run that has started got or lost its last sequence, in monotonic ms. */
  readonly waitingSince?: number;
}

export interface ShareOptions {
  /** Number of sequences of the engine. */
  readonly total: number;
  /** Share of the sequences, from 0 to 1, that a workspace keeps at once while another one waits. */
  readonly workspaceShare: number;
  /** The time, in monotonic ms. */
  readonly now: number;
}

/** Returns the number of sequences that a workspace may keep while others wait; at least one. */
const getShareMax = ({ total, workspaceShare }: Pick<ShareOptions, 'total' | 'workspaceShare'>): number =>
  Number.isFinite(total) ? Math.max(1, Math.floor(total * workspaceShare)) : total;

/**
 * Finds the sequences that may be taken away for a waiting request: those of workspaces that hold more than its own
 * workspace does, and those of other keys of its workspace that hold more than its key does. A workspace above its share
 * keeps a sequence for `YIELD_MS`; other runs are interrupted in turn, each after `ROTATION_MS`, and by an interrupted run
 * only after it has waited as long.
 * @returns the workspaces with most sequences first, then what was held longest; else in the order of `busy`.
 */
export function findYielding<Busy extends BusySequence>(
  { owner: claimant, waitingSince = -Infinity }: SequenceClaim,
  busy: readonly Busy[],
  options: ShareOptions,
): readonly Busy[] {
  const shareMax = getShareMax(options);
  const count = createSequenceCounter(busy);
  const own = count(claimant);
  return busy
    .map((sequence) => ({ sequence, counts: count(sequence.owner) }))
    .filter(({ sequence: { owner, since }, counts }) => {
      const isOther = owner.workspace !== claimant.workspace;
      if (!(isOther ? counts.workspace > own.workspace : counts.key > own.key)) return false;
      const isAboveShare = isOther && counts.workspace > shareMax;
      return isAboveShare
        ? options.now - since >= YIELD_MS
        : options.now - Math.max(since, waitingSince) >= ROTATION_MS;
    })
    .toSorted(
      (one, other) =>
        other.counts.workspace - one.counts.workspace ||
        other.counts.key - one.counts.key ||
        one.sequence.since - other.sequence.since,
    )
    .map(({ sequence }) => sequence);
}

/** Compares waiting requests: the workspace that holds fewer sequences is first, then the key that does. */
export function createClaimComparison(busy: readonly BusySequence[]): (one: EngineOwner, other: EngineOwner) => number {
  const count = createSequenceCounter(busy);
  return (one, other) => {
    const [a, b] = [count(one), count(other)];
    return a.workspace - b.workspace || a.key - b.key;
  };
}

/** Returns a function that counts the sequences of an owner's workspace, and those of its key. */
function createSequenceCounter(
  busy: readonly BusySequence[],
): (owner: EngineOwner) => { readonly workspace: number; readonly key: number } {
  const workspaces = new Map<string, number>();
  const keys = new Map<string, number>();
  const getKeyName = ({ workspace, key }: EngineOwner): string => `${workspace}\n${key}`;
  for (const { owner } of busy) {
    workspaces.set(owner.workspace, (workspaces.get(owner.workspace) ?? 0) + 1);
    keys.set(getKeyName(owner), (keys.get(getKeyName(owner)) ?? 0) + 1);
  }
  return (owner) => ({ workspace: workspaces.get(owner.workspace) ?? 0, key: keys.get(getKeyName(owner)) ?? 0 });
}

/**
 * Remembers which workspaces were active in the last `SHARE_RESERVE_MS`. While another one is, a workspace leaves one
 * sequence free, so that the other's next request starts at once.
 */
export interface ActiveWorkspaces {
  record(workspace: string, now: number): void;
  hasOthers(workspace: string, now: number): boolean;
}

export function createActiveWorkspaces(reserveMs: number): ActiveWorkspaces {
  const lastActive = new Map<string, number>();
  const removeOld = (now: number): void => {
    for (const [workspace, at] of lastActive) if (now - at >= reserveMs) lastActive.delete(workspace);
  };
  return {
    record: (workspace, now) => void lastActive.set(workspace, now),
    hasOthers(workspace, now) {
      removeOld(now);
      return lastActive.size > (lastActive.has(workspace) ? 1 : 0);
    },
  };
}

/**
 * Whether a live request may take one more sequence. A workspace uses all of them while it is alone; otherwise it leaves
 * one free, but may always have its share.
 */
export function canTakeSequence(
  owner: EngineOwner,
  busy: readonly BusySequence[],
  options: ShareOptions & { readonly active: ActiveWorkspaces },
): boolean {
  const { total, now, active } = options;
  if (!active.hasOthers(owner.workspace, now)) return true;
  const own = busy.filter((each) => each.owner.workspace === owner.workspace);
  return own.length < Math.max(getShareMax(options), total - 1);
}
