import type { CallProgram } from './call-program.ts';
import type { Match } from './call-pattern.ts';
import type { ToolNames } from './tool-names.ts';

/** What was recognised, from where, and the name in it. */
export interface Found {
  readonly match: Match;
  readonly start: number;
  readonly name: string;
}

/**
 * Follows all ways in which text could still become markup at the same time, a character at a time: nothing is looked at
 * twice, and what cannot become markup any more is known at once.
 */
export interface CallMatcher {
  /** Markup may begin with the next character; `start` is what its match will tell. @returns what is found already. */
  begin(steps: readonly number[], start: number): Found | undefined;
  /** Could markup begin with this character? */
  canBegin(steps: readonly number[], code: number): boolean;
  /** Takes a character. Of several matches the one with the earliest start counts. */
  take(code: number): Found | undefined;
  /** Start of the earliest that is still possible; undefined when nothing is. */
  start(): number | undefined;
  clear(): void;
}

interface Thread {
  readonly step: number;
  readonly start: number;
  readonly name: string;
}

export function createCallMatcher({ steps }: Pick<CallProgram, 'steps'>, names: ToolNames): CallMatcher {
  let threads: Thread[] = [];
  let next: Thread[] = [];
  let found: Found | undefined;
  /** By step: the round in which a thread came to it. Two threads at one step have the same future. */
  const seen = new Uint32Array(steps.length);
  let round = 0;
  const firsts = new Map<readonly number[], ReadonlySet<number>>();

  const reach = (into: Thread[], at: number, start: number, name: string): void => {
    const step = steps[at];
    if (!step || seen[at] === round) return;
    seen[at] = round;
    if (step.type === 'fork') for (const way of step.next) reach(into, way, start, name);
    else if (step.type !== 'match') into.push({ step: at, start, name });
    else found ??= { match: step.match, start, name };
  };

  const advance = ({ step: at, start, name }: Thread, code: number): void => {
    const step = steps[at];
    if (step?.type === 'character') {
      if (step.code === code) reach(next, step.next, start, name);
    } else if (step?.type === 'class') {
      if (step.has(code)) reach(next, step.next, start, name);
    } else if (step?.type === 'name') {
      const longer = name + String.fromCharCode(code);
      if (!names.isBeginning(longer)) return;
      next.push({ step: at, start, name: longer });
      if (names.has(longer)) reach(next, step.next, start, longer);
    }
  };

  const firstsOf = (entries: readonly number[]): ReadonlySet<number> => {
    const known = firsts.get(entries);
    if (known) return known;
    const codes = new Set<number>();
    const waiting = [...entries];
    for (const at of waiting) {
      const step = steps[at];
      if (step?.type === 'fork') waiting.push(...step.next);
      if (step?.type === 'character') codes.add(step.code);
    }
    firsts.set(entries, codes);
    return codes;
  };

  return {
    start: () => threads[0]?.start,
    canBegin: (entries, code) => firstsOf(entries).has(code),
    begin(entries, start) {
      found = undefined;
      // Threads that live already stay in front: theirs is the earlier start.
      if (threads.length === 0) round++;
      for (const entry of entries) reach(threads, entry, start, '');
      return found;
    },
    take(code) {
      round++;
      found = undefined;
      next.length = 0;
      for (const thread of threads) advance(thread, code);
      [threads, next] = [next, threads];
      return found;
    },
    clear() {
      threads.length = 0;
    },
  };
}
