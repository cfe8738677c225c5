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
  /**
   * `keepTokens` of this phase's tokens stay in the context; what matched `until.text` does not. `keepText` stood before
   * the match in the first token that leaves.
   */
  | { readonly type: 'phase-end'; readonly keepTokens: number; readonly keepText: string }
  | Finished;

export interface Finished {
  readonly type: 'finished';
  readonly reason: FinishReason;
  readonly stop?: string;
}

/**
 * From sampled tokens to lines: phases, limits, stop sequences and halves of characters, for one choice.
 *
 * Synchronous and without I/O. Text that could still become a stop sequence is held back, and with it the log
 * probabilities of its tokens.
 */
export interface ChoiceOutput {
  push(token: SampledToken): Verdict;
  /** The context is full: what was held back is said. It may turn out to hold a stop string. */
  cut(): Finished;
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
  readonly text: string;
  /** Characters of the phase before this token's text. */
  readonly startChar: number;
  /** Characters that must be out before this token's text is: one more than there are yet for half a character. */
  readonly endChar: number;
}

interface Match {
  readonly stop: string;
  /** Tokens that carry a part of it. */
  readonly carriers: number;
  /** What the first of them says before it. */
  readonly before: string;
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
  const release = (token: SampledToken): Match | undefined => {
    const piece = splitter.push(token.bytes);
    const isHalf = piece === '' && token.bytes.length > 0;
    pending.push({ token, text: piece, startChar: charsIn, endChar: charsIn + (isHalf ? 1 : piece.length) });
    charsIn += piece.length;
    const { text, match } = matcher.push(piece);
    charsOut += text.length;
    if (match === undefined) {
      say(
        token.id,
        text,
        takePending((entry) => entry.endChar <= charsOut),
      );
      return undefined;
    }
    const carriers = pending.filter((entry) => entry.endChar > charsOut);
    const [first] = carriers;
    const before = first ? first.text.slice(0, Math.max(0, charsOut - first.startChar)) : '';
    // A token that began before the stop string has given text to the answer.
    say(
      token.id,
      text,
      takePending((entry) => entry.startChar < charsOut),
    );
    return { stop: match, carriers: carriers.length, before };
  };

  /**
   * Says what is held back, up to a stop string where that holds one. A character cut in half by a limit is left out;
   * otherwise it shows as U+FFFD.
   */
  const flush = ({ isCut }: { isCut: boolean }): string | undefined => {
    for (const token of heldTokens.splice(0)) {
      const match = release(token);
      if (match) return match.stop;
    }
    const { text, match } = matcher.push(isCut ? '' : splitter.end());
    say(
      pending.at(-1)?.token.id ?? -1,
      match === undefined ? text + matcher.end() : text,
      takePending(() => true),
    );
    return match;
  };

  const finish = (reason: FinishReason, stop: string | undefined): Finished =>
    stop === undefined ? { type: 'finished', reason } : { type: 'finished', reason: 'stop', stop };

  /** The phase is over; the whole may be too. */
  const endPhase = (keepTokens: number, keepText: string): Verdict =>
    total >= (call.maxTotalTokens ?? Infinity)
      ? finish('length', undefined)
      : { type: 'phase-end', keepTokens, keepText };

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
    if (total < (call.maxTotalTokens ?? Infinity) && phaseTokens < (until ?? Infinity)) return { type: 'more' };
    const stop = flush({ isCut: true });
    return isLast ? finish('length', stop) : endPhase(phaseTokens, '');
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
    cut: () => finish('length', flush({ isCut: true })),
    push(token) {
      if (token.isEnd) {
        const stop = flush({ isCut: false });
        return isLast ? finish('stop', stop) : endPhase(phaseTokens, '');
      }
      phaseTokens++;
      total++;
      unreported++;
      heldTokens.push(token);
      const stops = stopTokens();
      const hit = stops.find((stop) => endsWith(heldTokens, stop, stop.length));
      if (hit) {
        heldTokens.splice(heldTokens.length - hit.length);
        return finish('stop', flush({ isCut: false }));
      }
      const keep = longestOpenStop(heldTokens, stops);
      for (const ready of heldTokens.splice(0, heldTokens.length - keep)) {
        const match = release(ready);
        if (match === undefined) continue;
        if (isLast) return finish('stop', match.stop);
        // Tokens that carry the mark leave the context, so that every way out of a phase is closed alike.
        return endPhase(phaseTokens - match.carriers, match.before);
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
