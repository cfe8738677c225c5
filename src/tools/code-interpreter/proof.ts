import type { Clock } from '../../lib/clock.ts';
import { every as systemEvery } from '../../lib/every.ts';
import type { Every } from '../../lib/every.ts';

/** What a try came to: what holds, or nothing. `isLate`: only because it took too long. */
export type Tried<Held> =
  | { readonly held: Held; readonly isLate?: never }
  | { readonly held?: never; readonly isLate: boolean };

/** Something that has to be tried before it is used, and again where a try took too long. */
export interface Proof<Held> {
  /** What holds: from the try that is being made, from a past one, or from a new one where it is time for that. */
  get(): Promise<Held | undefined>;
  /** When it is tried again, in ms from now, 0 while it is being tried; undefined where nothing is to be tried any more. */
  nextInMs(): number | undefined;
  /** Whoever asks is what begins the next try: no other will. */
  waitsForCaller(): boolean;
  /** Begins nothing more; resolves when what runs has ended. */
  close(): Promise<void>;
}

interface ProofNeeds<Held> {
  /** Never rejects. */
  readonly attempt: () => Promise<Tried<Held>>;
  /** From each late try to the next, in ms. After the last only whoever asks makes one begin, that long after the one before. */
  readonly pausesMs: readonly number[];
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly every?: Every | undefined;
}

/** Ours: how often it is looked whether it is time for a try, in ms. */
const LOOK_MS = 1_000;

/** Nothing is tried before the first `get`. What failed for another reason than time is not tried again. */
export function createProof<Held>({ attempt, pausesMs, clock, every = systemEvery }: ProofNeeds<Held>): Proof<Held> {
  let latest: Promise<Held | undefined> | undefined;
  let isRunning = false;
  let tries = 0;
  let dueAt: number | undefined;
  let stopLooking: (() => void) | undefined;
  let isClosed = false;

  const begin = async (): Promise<Held | undefined> => {
    isRunning = true;
    dueAt = undefined;
    tries++;
    const tried = await attempt();
    isRunning = false;
    const pauseMs = pausesMs[tries - 1] ?? pausesMs.at(-1);
    if (tried.isLate && pauseMs !== undefined && !isClosed) dueAt = clock.monotonic() + pauseMs;
    if (dueAt !== undefined && !waitsForCaller()) stopLooking ??= every(LOOK_MS, look);
    else stopLook();
    return tried.held;
  };
  const stopLook = (): void => {
    stopLooking?.();
    stopLooking = undefined;
  };
  const waitsForCaller = (): boolean => dueAt !== undefined && tries > pausesMs.length;
  const look = (): void => {
    if (dueAt !== undefined && clock.monotonic() >= dueAt) latest = begin();
  };

  return {
    get() {
      look();
      return (latest ??= isClosed ? Promise.resolve(undefined) : begin());
    },
    nextInMs() {
      if (isRunning) return 0;
      return dueAt === undefined ? undefined : Math.max(0, dueAt - clock.monotonic());
    },
    waitsForCaller,
    async close() {
      isClosed = true;
      dueAt = undefined;
      stopLook();
      await latest;
    },
  };
}
