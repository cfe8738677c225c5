import type { CallProgram } from './call-program.ts';
import type { MarkupToken } from './call-pattern.ts';
import type { ToolNames } from './tool-names.ts';

/** A recognized token, the position where it starts, and the tool name in it. */
export interface TokenMatch {
  readonly token: MarkupToken;
  readonly start: number;
  readonly name: string;
  /** Arguments that came before the name. */
  readonly object: string | undefined;
}

/**
 * Follows all ways in which text can become markup in parallel, one character at a time: no character is read twice,
 * and text that cannot become markup is known at once.
 */
export interface CallMatcher {
  /** Starts a match at the next character, whose position is `start`. @returns a token that is recognized already. */
  startAt(steps: readonly number[], start: number): TokenMatch | undefined;
  /** Whether markup can start with this character. */
  canStart(steps: readonly number[], code: number): boolean;
  /** Takes a character. Of several matches, returns the one that starts earliest. */
  take(code: number): TokenMatch | undefined;
  /** Returns the start of the earliest possible match; undefined when there is none. */
  getEarliestStart(): number | undefined;
  reset(): void;
}

interface Thread {
  readonly step: number;
  readonly start: number;
  readonly name: string;
  readonly object?: ObjectText;
}

/** An object as far as it has arrived. */
interface ObjectText {
  readonly text: string;
  readonly depth: number;
  /** Quote of the string that is open; empty outside of strings. */
  readonly quote: string;
  readonly isEscaped: boolean;
}

const NO_OBJECT: ObjectText = { text: '', depth: 0, quote: '', isEscaped: false };

/** Returns the object with one more character; undefined where none starts. */
function takeObject({ text, depth, quote, isEscaped }: ObjectText, character: string): ObjectText | undefined {
  if (text === '' && character !== '{') return undefined;
  const opened = '{['.includes(character) ? 1 : '}]'.includes(character) ? -1 : 0;
  const isInString = quote !== '';
  const endsString = isInString && character === quote && !isEscaped;
  return {
    text: text + character,
    depth: isInString ? depth : depth + opened,
    quote: endsString ? '' : !isInString && (character === '"' || character === "'") ? character : quote,
    isEscaped: isInString && character === '\\' && !isEscaped,
  };
}

export function createCallMatcher({ steps }: Pick<CallProgram, 'steps'>, names: ToolNames): CallMatcher {
  let threads: Thread[] = [];
  let next: Thread[] = [];
  let found: TokenMatch | undefined;
  /** For each step the round in which a thread reached it. Two threads at one step have the same future. */
  const visitedInRound = new Uint32Array(steps.length);
  let round = 0;
  const firstCodesByEntries = new Map<readonly number[], ReadonlySet<number>>();

  const addThreads = (into: Thread[], thread: Thread): void => {
    const { step: at, start, name, object } = thread;
    const step = steps[at];
    if (!step || visitedInRound[at] === round) return;
    visitedInRound[at] = round;
    if (step.type === 'fork') for (const way of step.next) addThreads(into, { ...thread, step: way });
    else if (step.type !== 'match') into.push(thread);
    else found ??= { token: step.match, start, name, object: object?.text };
  };

  const advance = (thread: Thread, code: number): void => {
    const { step: at, name } = thread;
    const step = steps[at];
    if (step?.type === 'character') {
      if (step.code === code) addThreads(next, { ...thread, step: step.next });
    } else if (step?.type === 'class') {
      if (step.has(code)) addThreads(next, { ...thread, step: step.next });
    } else if (step?.type === 'name') {
      const longer = name + String.fromCharCode(code);
      const isAnyName = step.acceptsAny && names.canBeUndeclared(longer);
      if (!isAnyName && !names.isPrefix(longer)) return;
      next.push({ ...thread, name: longer });
      if (isAnyName || names.has(longer)) addThreads(next, { ...thread, step: step.next, name: longer });
    } else if (step?.type === 'object') {
      const object = takeObject(thread.object ?? NO_OBJECT, String.fromCharCode(code));
      if (object === undefined || visitedInRound[at] === round) return;
      // An object in another one is part of it.
      visitedInRound[at] = round;
      if (object.depth > 0) next.push({ ...thread, object });
      else addThreads(next, { ...thread, step: step.next, object });
    }
  };

  const getFirstCodes = (entries: readonly number[]): ReadonlySet<number> => {
    const known = firstCodesByEntries.get(entries);
    if (known) return known;
    const codes = new Set<number>();
    const pending = [...entries];
    for (const at of pending) {
      const step = steps[at];
      if (step?.type === 'fork') pending.push(...step.next);
      if (step?.type === 'character') codes.add(step.code);
      if (step?.type === 'name') for (const code of names.firstCodes) codes.add(code);
    }
    firstCodesByEntries.set(entries, codes);
    return codes;
  };

  return {
    getEarliestStart: () => threads[0]?.start,
    canStart: (entries, code) => getFirstCodes(entries).has(code),
    startAt(entries, start) {
      found = undefined;
      // Running threads stay in front, because they started earlier.
      if (threads.length === 0) round++;
      for (const step of entries) addThreads(threads, { step, start, name: '' });
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
    reset() {
      threads.length = 0;
    },
  };
}
