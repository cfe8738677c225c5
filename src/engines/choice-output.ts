import { assert } from '../lib/assert.ts';
import { createStopMatcher } from '../lib/stop-matcher.ts';
import { createUtf8Splitter } from '../lib/utf8-splitter.ts';
import type { FinishReason } from '../core/event.ts';
import { EMPTY_PHASES_MAX, TRIGGER_WINDOW_CHARS } from '../core/limits.ts';
import type { Phase, PromptSegment } from '../core/prompt.ts';
import { createContextCut } from './context-cut.ts';
import type { Kept } from './context-cut.ts';
import type { EngineRequest } from './engine.ts';
import type { Triggers } from './triggers.ts';

/** A token as the sampler gave it. `L`: what is known of how likely it was. */
export interface SampledToken<L> {
  readonly id: number;
  /** As many as came together, where a server tells several at once; 1 unless told. The id is that of the last. */
  readonly tokens?: number;
  readonly bytes: Uint8Array;
  /** The model's own end. */
  readonly isEnd: boolean;
  readonly logprobs?: L;
}

/** What may be said now: halves of characters and possible beginnings of a stop string are held back. */
export interface Said<L> {
  readonly phase: number;
  /** The token sampled last. */
  readonly id: number;
  /** Sampled tokens since the one before: the text may stand for several. */
  readonly tokens: number;
  readonly text: string;
  /** Of the tokens whose text is now out, in order. */
  readonly logprobs?: readonly L[];
}

export type Verdict = { readonly type: 'more' } | PhaseEnd | Finished;

/** Another phase has begun. The context goes on with what is kept of the one before, then `append`. */
export interface PhaseEnd extends Kept {
  readonly type: 'phase-end';
  readonly append: readonly PromptSegment[];
  /** What the last token said beyond what ended the phase; neither output nor context has it. */
  readonly rest: string;
}

export interface Finished {
  readonly type: 'finished';
  readonly reason: FinishReason;
  readonly stop?: string;
}

/**
 * From sampled tokens to what is said: phases, limits, stop sequences and halves of characters, for one choice.
 *
 * Synchronous and without I/O. Text that could still become a stop sequence is held back, and with it the log
 * probabilities of its tokens.
 */
export interface ChoiceOutput<L> {
  push(token: SampledToken<L>): Verdict;
  /** The context is full: what was held back is said. It may turn out to hold a stop string. */
  cut(): Finished;
  /** Position of the phase that the next token belongs to. */
  readonly phase: number;
  readonly kind: Phase['kind'];
  /** Sampled tokens so far, without the model's own end. */
  readonly tokens: number;
  /** Of these, tokens of thoughts. */
  readonly thoughtTokens: number;
}

export type OutputCall = Pick<EngineRequest, 'stop' | 'maxTokens' | 'maxTotalTokens' | 'phases'>;

export interface OutputNeeds<L> {
  /** Of the call's phases; choices of one request share them. */
  readonly triggers: Triggers;
  readonly say: (said: Said<L>) => void;
}

interface Pending<L> {
  readonly token: SampledToken<L>;
  /** Characters of the phase before this token's text. */
  readonly startChar: number;
  /** Characters that must be out before this token's text is: one more than there are yet for half a character. */
  readonly endChar: number;
}

/** Text that ends a phase: a stop string or `until.text`, which is not said, or what a trigger waits for, which is. */
type Found =
  | { readonly type: 'text'; readonly text: string; readonly rest: string }
  | { readonly type: 'trigger'; readonly phase: number; readonly rest: string };

const ONE_ANSWER: readonly Phase[] = [{ kind: 'answer' }];

export function createChoiceOutput<L>(call: OutputCall, { triggers, say }: OutputNeeds<L>): ChoiceOutput<L> {
  const phases = call.phases.length > 0 ? call.phases : ONE_ANSWER;
  let current: Phase = { kind: 'answer' };
  let phaseTokens = 0;
  let phasePushes = 0;
  let unreported = 0;
  let emptyInRow = 0;
  let splitter = createUtf8Splitter();
  let matcher = createStopMatcher([]);
  let context = createContextCut();
  /** The end of the phase's text, for its triggers. */
  let recent = '';
  /** Tokens that may still turn out to be a stop sequence of ids. */
  let heldTokens: SampledToken<L>[] = [];
  /** Tokens whose text is not out yet. */
  let pending: Pending<L>[] = [];
  let charsIn = 0;
  let charsOut = 0;

  const beginPhase = (position: number): void => {
    const found = phases[position];
    assert(found, 'the phases of a call lead to each other');
    now.phase = position;
    now.kind = found.kind;
    current = found;
    phaseTokens = 0;
    phasePushes = 0;
    splitter = createUtf8Splitter();
    const until = current.until?.text;
    const stops = now.kind === 'answer' ? call.stop.strings : [];
    matcher = createStopMatcher(until === undefined ? stops : [...stops, until]);
    context = createContextCut();
    recent = '';
    heldTokens = [];
    pending = [];
    charsIn = 0;
    charsOut = 0;
  };
  /** Says the next characters, and with them the tokens that `isOut`. */
  const tell = (id: number, text: string, isOut: (entry: Pending<L>) => boolean): void => {
    charsOut += text.length;
    const logprobs: L[] = [];
    let released = 0;
    for (const entry of pending) {
      if (!isOut(entry)) break;
      released++;
      if (entry.token.logprobs && now.kind === 'answer') logprobs.push(entry.token.logprobs);
    }
    pending.splice(0, released);
    if (text === '' && logprobs.length === 0) return;
    const said = { phase: now.phase, id, tokens: unreported, text };
    say(logprobs.length > 0 ? { ...said, logprobs } : said);
    unreported = 0;
  };
  const isOut = ({ endChar }: Pending<L>): boolean => endChar <= charsOut;
  /** A token that began before the cut has given text to the answer. */
  const hasBegun = ({ startChar }: Pending<L>): boolean => startChar < charsOut;

  /** Passes one token's text on, up to what ends the phase. */
  const release = (token: SampledToken<L>): Found | undefined => {
    const piece = splitter.push(token.bytes);
    const isHalf = piece === '' && token.bytes.length > 0;
    pending.push({ token, startChar: charsIn, endChar: charsIn + (isHalf ? 1 : piece.length) });
    context.add(token.bytes, piece);
    charsIn += piece.length;
    const hit = triggers.find(now.phase, recent, piece);
    if (current.triggers) recent = (recent + piece).slice(-TRIGGER_WINDOW_CHARS);
    // A stop string counts only if it ends no later than the trigger's text.
    const { text, match, rest = '' } = matcher.push(hit ? piece.slice(0, hit.end) : piece);
    if (match !== undefined) {
      tell(token.id, text, hasBegun);
      return { type: 'text', text: match, rest: rest + (hit ? piece.slice(hit.end) : '') };
    }
    if (hit) {
      tell(token.id, text + matcher.end(), hasBegun);
      return { type: 'trigger', phase: hit.phase, rest: piece.slice(hit.end) };
    }
    tell(token.id, text, isOut);
    context.passed(charsOut);
    return undefined;
  };

  /**
   * Says what is held back, up to what ends the phase where that holds such. A character cut in half by a limit is left
   * out; otherwise it shows as U+FFFD.
   */
  const flush = ({ isCut }: { isCut: boolean }): Found | undefined => {
    for (const token of heldTokens.splice(0)) {
      const found = release(token);
      if (found) return found;
    }
    const { text, match } = matcher.push(isCut ? '' : splitter.end());
    tell(pending.at(-1)?.token.id ?? -1, match === undefined ? text + matcher.end() : text, () => true);
    return match === undefined ? undefined : { type: 'text', text: match, rest: '' };
  };

  const finish = (reason: FinishReason): Finished => ({ type: 'finished', reason });
  const stopped = (stop: string): Finished => ({ type: 'finished', reason: 'stop', stop });
  const isStop = (text: string): boolean => now.kind === 'answer' && call.stop.strings.includes(text);
  const isAllUsed = (): boolean => now.tokens >= (call.maxTotalTokens ?? Infinity);
  const isAnswerUsed = (): boolean =>
    now.kind !== 'thought' && now.tokens - now.thoughtTokens >= (call.maxTokens ?? Infinity);

  const goOn = (position: number, goes: Omit<PhaseEnd, 'type'>): Verdict => {
    if (isAllUsed()) return finish('length');
    emptyInRow = phaseTokens === 0 ? emptyInRow + 1 : 0;
    if (emptyInRow > EMPTY_PHASES_MAX) return finish('stop');
    beginPhase(position);
    return isAnswerUsed() ? finish('length') : { type: 'phase-end', ...goes };
  };

  /** The phase ended by itself or by `until`. */
  const leave = (kept: Kept, reason: FinishReason, rest = ''): Verdict =>
    current.next === undefined
      ? finish(reason)
      : goOn(current.next, { ...kept, append: current.thenAppend ?? [], rest });

  /** What text that was found in the output means; `otherwise` when there was none. */
  const settle = (found: Found | undefined, otherwise: () => Verdict): Verdict => {
    if (!found) return otherwise();
    // Tokens that carry what is not said leave the context too, so that every way out of a phase is closed alike.
    const kept = context.at(charsOut);
    if (found.type === 'trigger') return goOn(found.phase, { ...kept, append: [], rest: found.rest });
    return isStop(found.text) ? stopped(found.text) : leave(kept, 'stop', found.rest);
  };

  const checkLimits = (): Verdict => {
    const isOver = isAllUsed() || isAnswerUsed();
    if (!isOver && phaseTokens < (current.until?.tokens ?? Infinity)) return { type: 'more' };
    return settle(flush({ isCut: true }), () => (isOver ? finish('length') : leave(context.at(charsOut), 'length')));
  };

  // Fields, not getters: an object literal with a getter gets a hidden class of its own each time it is made, which keeps
  // all that the getter sees until the next full collection.
  const now: { -readonly [Name in keyof ChoiceOutput<L>]: ChoiceOutput<L>[Name] } = {
    phase: 0,
    kind: 'answer',
    tokens: 0,
    thoughtTokens: 0,
    cut() {
      const found = flush({ isCut: true });
      return found?.type === 'text' && isStop(found.text) ? stopped(found.text) : finish('length');
    },
    push(token) {
      if (token.isEnd)
        return settle(flush({ isCut: false }), () =>
          now.kind === 'answer' ? finish('stop') : leave({ keepTokens: phasePushes, keepText: '' }, 'stop'),
        );
      const count = token.tokens ?? 1;
      phasePushes++;
      phaseTokens += count;
      now.tokens += count;
      unreported += count;
      if (now.kind === 'thought') now.thoughtTokens += count;
      const stops = now.kind === 'answer' ? call.stop.tokens : [];
      if (stops.length === 0 && heldTokens.length === 0) return settle(release(token), checkLimits);
      heldTokens.push(token);
      const hit = stops.find((stop) => endsWith(heldTokens, stop, stop.length));
      if (hit) {
        heldTokens.splice(heldTokens.length - hit.length);
        return settle(flush({ isCut: false }), () => stopped(''));
      }
      const keep = longestOpenStop(heldTokens, stops);
      for (const ready of heldTokens.splice(0, heldTokens.length - keep)) {
        const found = release(ready);
        if (found) return settle(found, checkLimits);
      }
      return checkLimits();
    },
  };
  beginPhase(0);
  return now;
}

const endsWith = (tokens: readonly { id: number }[], stop: readonly number[], length: number): boolean => {
  if (length > tokens.length) return false;
  for (let i = 0; i < length; i++) if (tokens[tokens.length - length + i]?.id !== stop[i]) return false;
  return true;
};

/** How many of the last tokens are a beginning, but not the whole, of a stop sequence. */
function longestOpenStop(tokens: readonly { id: number }[], stops: readonly (readonly number[])[]): number {
  let longest = 0;
  for (const stop of stops)
    for (let length = Math.min(stop.length - 1, tokens.length); length > longest; length--)
      if (endsWith(tokens, stop, length)) longest = length;
  return longest;
}
