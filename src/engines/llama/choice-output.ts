import type { FinishReason } from '../../core/event.ts';
import { createStopMatcher } from '../../lib/stop-matcher.ts';
import { createUtf8Splitter } from '../../lib/utf8-splitter.ts';
import type { GenerateCall, Line, WireAlternative } from './protocol.ts';

/** A token as the sampler gave it. */
export interface SampledToken {
  readonly id: number;
  readonly bytes: Uint8Array;
  /** The model's own end. */
  readonly isEnd: boolean;
  readonly logprobs?: WireAlternative & { readonly top: readonly WireAlternative[] };
}

export type Verdict =
  | { readonly type: 'more' }
  /** `keepTokens` of this phase's tokens stay in the context; what matched `until.text` does not. */
  | { readonly type: 'phase-end'; readonly keepTokens: number }
  | { readonly type: 'finished'; readonly reason: FinishReason; readonly stop?: string };

/**
 * From sampled tokens to lines: phases, limits, stop sequences and halves of characters, for one choice.
 *
 * Synchronous and without I/O. Text that could still become a stop sequence is held back, and with it the log
 * probabilities of its tokens.
 */
export interface ChoiceOutput {
  push(token: SampledToken): Verdict;
  /** The context is full: what was held back is said. */
  cut(): void;
  /** The next phase begins (after a `phase-end`). */
  nextPhase(): void;
  /** Position of the phase. */
  readonly phase: number;
  /** Sampled tokens so far, without the model's own end. */
  readonly tokens: number;
  /** Of these, tokens before the last phase. */
  readonly earlierPhaseTokens: number;
}

type OutputCall = Pick<GenerateCall, 'stop' | 'maxTokens' | 'maxTotalTokens' | 'phases' | 'logprobs'>;

interface Pending {
  readonly token: SampledToken;
  /** Characters of the phase before and after this token's text. */
  readonly startChar: number;
  readonly endChar: number;
}

export function createChoiceOutput(call: OutputCall, choice: number, emit: (line: Line) => void): ChoiceOutput {
  const phasesCount = Math.max(1, call.phases.length);
  let phase = -1;
  let isLast = false;
  let phaseTokens = 0;
  let total = 0;
  let earlier = 0;
  let unreported = 0;
  let splitter = createUtf8Splitter();
  let matcher = createStopMatcher([]);
  /** Tokens that may still turn out to be a stop sequence of ids. */
  let heldTokens: SampledToken[] = [];
  /** Tokens whose text is not out yet. */
  let pending: Pending[] = [];
  let charsIn = 0;
  let charsOut = 0;

  const say = (id: number, text: string, released: readonly SampledToken[]): void => {
    const logprobs = released.flatMap((token) => (isLast && token.logprobs ? [token.logprobs] : []));
    if (text === '' && logprobs.length === 0) return;
    emit({ type: 'token', choice, phase, id, tokens: unreported, text, ...(logprobs.length > 0 ? { logprobs } : {}) });
    unreported = 0;
  };

  const takePending = (isOut: (entry: Pending) => boolean): SampledToken[] => {
    let count = 0;
    for (const entry of pending) {
      if (!isOut(entry)) break;
      count++;
    }
    return pending.splice(0, count).map((entry) => entry.token);
  };

  /** Passes one token's text on; says which stop string it completed. */
  const release = (token: SampledToken): string | undefined => {
    const piece = splitter.push(token.bytes);
    pending.push({ token, startChar: charsIn, endChar: charsIn + piece.length });
    charsIn += piece.length;
    const { text, match } = matcher.push(piece);
    charsOut += text.length;
    // On a match, a token that began before the stop string has given text to the answer.
    const isOut = match === undefined ? (e: Pending) => e.endChar <= charsOut : (e: Pending) => e.startChar < charsOut;
    const released = takePending(isOut);
    say(token.id, text, released);
    return match;
  };

  /** Says what is held back. A character cut in half by a limit is left out; otherwise it shows as U+FFFD. */
  const flush = ({ isCut }: { isCut: boolean }): void => {
    for (const token of heldTokens.splice(0)) release(token);
    const rest = isCut ? '' : splitter.end();
    const { text, match } = matcher.push(rest);
    const last = match === undefined ? text + matcher.end() : text;
    say(
      pending.at(-1)?.token.id ?? -1,
      last,
      takePending(() => true),
    );
  };

  const stopTokens = (): readonly (readonly number[])[] => (isLast ? call.stop.tokens : []);

  const beginPhase = (): void => {
    phase++;
    isLast = phase === phasesCount - 1;
    if (isLast) earlier = total;
    phaseTokens = 0;
    splitter = createUtf8Splitter();
    const until = call.phases[phase]?.until?.text;
    matcher = createStopMatcher(isLast ? call.stop.strings : until === undefined ? [] : [until]);
    heldTokens = [];
    pending = [];
    charsIn = 0;
    charsOut = 0;
  };
  beginPhase();

  const limitVerdict = (): Verdict => {
    const until = isLast ? call.maxTokens : call.phases[phase]?.until?.tokens;
    if (total >= (call.maxTotalTokens ?? Infinity) || (isLast && phaseTokens >= (until ?? Infinity))) {
      flush({ isCut: true });
      return { type: 'finished', reason: 'length' };
    }
    if (!isLast && phaseTokens >= (until ?? Infinity)) {
      flush({ isCut: true });
      return { type: 'phase-end', keepTokens: phaseTokens };
    }
    return { type: 'more' };
  };

  return {
    get phase() {
      return phase;
    },
    get tokens() {
      return total;
    },
    get earlierPhaseTokens() {
      return isLast ? earlier : total;
    },
    nextPhase: beginPhase,
    cut: () => flush({ isCut: true }),
    push(token) {
      if (token.isEnd) {
        flush({ isCut: false });
        return isLast ? { type: 'finished', reason: 'stop' } : { type: 'phase-end', keepTokens: phaseTokens };
      }
      phaseTokens++;
      total++;
      unreported++;
      heldTokens.push(token);
      const stops = stopTokens();
      const hit = stops.find((stop) => endsWith(heldTokens, stop, stop.length));
      if (hit) {
        heldTokens.splice(heldTokens.length - hit.length);
        flush({ isCut: false });
        return { type: 'finished', reason: 'stop' };
      }
      const keep = longestOpenStop(heldTokens, stops);
      for (const ready of heldTokens.splice(0, heldTokens.length - keep)) {
        const match = release(ready);
        if (match === undefined) continue;
        if (isLast) return { type: 'finished', reason: 'stop', stop: match };
        // Tokens that carry the mark leave the context, so that every way out of a phase is closed alike.
        const carriers = pending.length;
        return { type: 'phase-end', keepTokens: phaseTokens - carriers };
      }
      return limitVerdict();
    },
  };
}

const endsWith = (tokens: readonly SampledToken[], stop: readonly number[], length: number): boolean => {
  if (length > tokens.length) return false;
  for (let i = 0; i < length; i++) if (tokens[tokens.length - length + i]?.id !== stop[i]) return false;
  return true;
};

/** How many of the last tokens are a beginning, but not the whole, of a stop sequence. */
function longestOpenStop(tokens: readonly SampledToken[], stops: readonly (readonly number[])[]): number {
  let longest = 0;
  for (const stop of stops)
    for (let length = Math.min(stop.length - 1, tokens.length); length > longest; length--)
      if (endsWith(tokens, stop, length)) longest = length;
  return longest;
}
