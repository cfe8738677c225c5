import { assert } from '../lib/assert.ts';
import { createStopMatcher } from '../lib/stop-matcher.ts';
import { createUtf8StreamDecoder } from '../lib/utf8-stream-decoder.ts';
import type { FinishReason } from '../core/event.ts';
import { EMPTY_PHASES_MAX, TRIGGER_WINDOW_CHARS } from './limits.ts';
import type { GenerationPhase, PromptSegment } from '../core/prompt.ts';
import { createCutPointTracker } from './cut-point-tracker.ts';
import type { RetainedContext } from './cut-point-tracker.ts';
import type { EngineRequest } from './engine.ts';
import type { TriggerMatcher } from './trigger-matcher.ts';

/** One token from the sampler. `L` is the type of its log probabilities. */
export interface SampledToken<L> {
  readonly id: number;
  /** Number of tokens, for servers that report several together; default 1. `id` is then the last of them. */
  readonly count?: number;
  readonly bytes: Uint8Array;
  /** The model's own end-of-generation token. */
  readonly isEndToken: boolean;
  readonly logprobs?: L;
}

/** Text to output now. Incomplete characters and possible beginnings of a stop string are held back. */
export interface OutputDelta<L> {
  readonly phase: number;
  /** Id of the token that was sampled last. */
  readonly id: number;
  /** Number of tokens sampled since the previous delta: one text may stand for several tokens. */
  readonly tokens: number;
  readonly text: string;
  /** Log probabilities of the tokens whose text is complete now, in order. */
  readonly logprobs?: readonly L[];
}

export type PushResult = { readonly type: 'more' } | PhaseEnd | ChoiceEnd;

/** The next phase has started. Its context consists of the retained part of the last phase, followed by `append`. */
export interface PhaseEnd extends RetainedContext {
  readonly type: 'phase-end';
  readonly append: readonly PromptSegment[];
  /** Text of the last token after the end of the phase. It belongs to neither the output nor the context. */
  readonly rest: string;
}

export interface ChoiceEnd {
  readonly type: 'finished';
  readonly reason: FinishReason;
  readonly stop?: string;
}

/**
 * Turns the sampled tokens of one choice into output text. Applies phases, token limits and stop sequences, and joins
 * characters that are split across tokens.
 *
 * Synchronous and without I/O. Text that could still become a stop sequence is held back, together with the log
 * probabilities of its tokens.
 */
export interface ChoiceOutput<L> {
  push(token: SampledToken<L>): PushResult;
  /** Call this when the context is full. Emits the text held back, which may turn out to contain a stop string. */
  finishAtContextLimit(): ChoiceEnd;
  /** Index of the phase that the next token belongs to. */
  readonly phase: number;
  readonly kind: GenerationPhase['kind'];
  /** Number of tokens sampled so far, without the end-of-generation token. */
  readonly totalTokens: number;
  /** Number of these tokens that belong to thought phases. */
  readonly thoughtTokens: number;
}

export type OutputOptions = Pick<EngineRequest, 'stop' | 'maxTokens' | 'maxTotalTokens' | 'phases'>;

export interface OutputDeps<L> {
  /** The matcher for the phases of this request; all choices of a request share it. */
  readonly triggers: TriggerMatcher;
  readonly onDelta: (delta: OutputDelta<L>) => void;
}

interface Pending<L> {
  readonly token: SampledToken<L>;
  /** Number of characters in the phase before the text of this token. */
  readonly startChar: number;
  /**
   * Number of characters that must be emitted before the text of this token is complete. For a token that ends inside a
   * character this is one more than have been received.
   */
  readonly endChar: number;
}

/**
 * Text that ends a phase. A stop string or `until.text` is removed from the output; the text of a trigger stays in it.
 */
type PhaseEndMatch =
  | { readonly type: 'text'; readonly text: string; readonly rest: string }
  | { readonly type: 'trigger'; readonly phase: number; readonly rest: string };

const SINGLE_ANSWER: readonly GenerationPhase[] = [{ kind: 'answer' }];

export function createChoiceOutput<L>(options: OutputOptions, { triggers, onDelta }: OutputDeps<L>): ChoiceOutput<L> {
  const phases = options.phases.length > 0 ? options.phases : SINGLE_ANSWER;
  let current: GenerationPhase = { kind: 'answer' };
  let phaseTokens = 0;
  let phasePushes = 0;
  let unreportedTokens = 0;
  let emptyPhasesInRow = 0;
  let splitter = createUtf8StreamDecoder();
  let matcher = createStopMatcher([]);
  let context = createCutPointTracker();
  /** The end of the text of the phase, for its triggers. */
  let recentText = '';
  /** Tokens that may still become a stop sequence of token ids. */
  let stopCandidates: SampledToken<L>[] = [];
  /** Tokens whose text has not been emitted completely. */
  let pending: Pending<L>[] = [];
  let charsReceived = 0;
  let charsEmitted = 0;

  const startPhase = (position: number): void => {
    const found = phases[position];
    assert(found, 'the phases of a call lead to each other');
    output.phase = position;
    output.kind = found.kind;
    current = found;
    phaseTokens = 0;
    phasePushes = 0;
    splitter = createUtf8StreamDecoder();
    const until = current.until?.text;
    const stops = output.kind === 'answer' ? options.stop.strings : [];
    matcher = createStopMatcher(until === undefined ? stops : [...stops, until]);
    context = createCutPointTracker();
    recentText = '';
    stopCandidates = [];
    pending = [];
    charsReceived = 0;
    charsEmitted = 0;
  };
  /** Emits the next characters, and the log probabilities of the pending tokens that are complete. */
  const emit = (id: number, text: string, isComplete: (entry: Pending<L>) => boolean): void => {
    charsEmitted += text.length;
    const logprobs: L[] = [];
    let releasedCount = 0;
    for (const entry of pending) {
      if (!isComplete(entry)) break;
      releasedCount++;
      if (entry.token.logprobs && output.kind === 'answer') logprobs.push(entry.token.logprobs);
    }
    pending.splice(0, releasedCount);
    if (text === '' && logprobs.length === 0) return;
    const delta = { phase: output.phase, id, tokens: unreportedTokens, text };
    onDelta(logprobs.length > 0 ? { ...delta, logprobs } : delta);
    unreportedTokens = 0;
  };
  const isEmitted = ({ endChar }: Pending<L>): boolean => endChar <= charsEmitted;
  /** Whether at least one character of the token is in the output; used where a match cuts the text. */
  const hasStarted = ({ startChar }: Pending<L>): boolean => startChar < charsEmitted;

  /** Processes the text of one token, up to the text that ends the phase. */
  const processToken = (token: SampledToken<L>): PhaseEndMatch | undefined => {
    const piece = splitter.push(token.bytes);
    const isPartial = piece === '' && token.bytes.length > 0;
    pending.push({ token, startChar: charsReceived, endChar: charsReceived + (isPartial ? 1 : piece.length) });
    context.add(token.bytes, piece);
    charsReceived += piece.length;
    const trigger = triggers.find(output.phase, recentText, piece);
    if (current.triggers) recentText = (recentText + piece).slice(-TRIGGER_WINDOW_CHARS);
    // A stop string counts only if it ends no later than the text of the trigger.
    const { text, match, rest = '' } = matcher.push(trigger ? piece.slice(0, trigger.end) : piece);
    if (match !== undefined) {
      emit(token.id, text, hasStarted);
      return { type: 'text', text: match, rest: rest + (trigger ? piece.slice(trigger.end) : '') };
    }
    if (trigger) {
      emit(token.id, text + matcher.end(), hasStarted);
      return { type: 'trigger', phase: trigger.phase, rest: piece.slice(trigger.end) };
    }
    emit(token.id, text, isEmitted);
    context.discardBefore(charsEmitted);
    return undefined;
  };

  /**
   * Emits all text that is held back, up to a match that ends the phase. A character that a limit has cut in half is
   * dropped; otherwise it shows as U+FFFD.
   */
  const flush = ({ isTruncated }: { isTruncated: boolean }): PhaseEndMatch | undefined => {
    for (const token of stopCandidates.splice(0)) {
      const match = processToken(token);
      if (match) return match;
    }
    const { text, match } = matcher.push(isTruncated ? '' : splitter.end());
    emit(pending.at(-1)?.token.id ?? -1, match === undefined ? text + matcher.end() : text, () => true);
    return match === undefined ? undefined : { type: 'text', text: match, rest: '' };
  };

  const createEnd = (reason: FinishReason): ChoiceEnd => ({ type: 'finished', reason });
  const createStopEnd = (stop: string): ChoiceEnd => ({ type: 'finished', reason: 'stop', stop });
  const isStop = (text: string): boolean => output.kind === 'answer' && options.stop.strings.includes(text);
  const isTotalLimitReached = (): boolean => output.totalTokens >= (options.maxTotalTokens ?? Infinity);
  const isAnswerLimitReached = (): boolean =>
    output.kind !== 'thought' && output.totalTokens - output.thoughtTokens >= (options.maxTokens ?? Infinity);

  const enterPhase = (position: number, end: Omit<PhaseEnd, 'type'>): PushResult => {
    if (isTotalLimitReached()) return createEnd('length');
    emptyPhasesInRow = phaseTokens === 0 ? emptyPhasesInRow + 1 : 0;
    if (emptyPhasesInRow > EMPTY_PHASES_MAX) return createEnd('stop');
    startPhase(position);
    return isAnswerLimitReached() ? createEnd('length') : { type: 'phase-end', ...end };
  };

  /** Handles a phase that ended by the model's end token or by `until`. */
  const endPhase = (retained: RetainedContext, reason: FinishReason, rest = ''): PushResult =>
    current.nextPhase === undefined
      ? createEnd(reason)
      : enterPhase(current.nextPhase, { ...retained, append: current.appendOnEnd ?? [], rest });

  /** Acts on a match in the output, or returns `createDefault()` if there is none. */
  const applyMatch = (match: PhaseEndMatch | undefined, createDefault: () => PushResult): PushResult => {
    if (!match) return createDefault();
    // Tokens that contain removed text leave the context too, so that every kind of phase end is closed in the same
    // way.
    const retained = context.cutAt(charsEmitted);
    if (match.type === 'trigger') return enterPhase(match.phase, { ...retained, append: [], rest: match.rest });
    return isStop(match.text) ? createStopEnd(match.text) : endPhase(retained, 'stop', match.rest);
  };

  const checkLimits = (): PushResult => {
    const isLimitReached = isTotalLimitReached() || isAnswerLimitReached();
    if (!isLimitReached && phaseTokens < (current.until?.tokens ?? Infinity)) return { type: 'more' };
    return applyMatch(flush({ isTruncated: true }), () =>
      isLimitReached ? createEnd('length') : endPhase(context.cutAt(charsEmitted), 'length'),
    );
  };

  // Plain fields instead of getters: each object literal with a getter gets its own hidden class in V8, which keeps
  // everything the getter refers to alive until the next full garbage collection.
  const output: { -readonly [Name in keyof ChoiceOutput<L>]: ChoiceOutput<L>[Name] } = {
    phase: 0,
    kind: 'answer',
    totalTokens: 0,
    thoughtTokens: 0,
    finishAtContextLimit() {
      const found = flush({ isTruncated: true });
      return found?.type === 'text' && isStop(found.text) ? createStopEnd(found.text) : createEnd('length');
    },
    push(token) {
      if (token.isEndToken)
        return applyMatch(flush({ isTruncated: false }), () =>
          output.kind === 'answer' ? createEnd('stop') : endPhase({ keepTokens: phasePushes, keepText: '' }, 'stop'),
        );
      const count = token.count ?? 1;
      phasePushes++;
      phaseTokens += count;
      output.totalTokens += count;
      unreportedTokens += count;
      if (output.kind === 'thought') output.thoughtTokens += count;
      const stops = output.kind === 'answer' ? options.stop.tokens : [];
      if (stops.length === 0 && stopCandidates.length === 0) return applyMatch(processToken(token), checkLimits);
      stopCandidates.push(token);
      const hit = stops.find((stop) => endsWith(stopCandidates, stop, stop.length));
      if (hit) {
        stopCandidates.splice(stopCandidates.length - hit.length);
        return applyMatch(flush({ isTruncated: false }), () => createStopEnd(''));
      }
      const keepCount = countOpenStopTokens(stopCandidates, stops);
      for (const released of stopCandidates.splice(0, stopCandidates.length - keepCount)) {
        const found = processToken(released);
        if (found) return applyMatch(found, checkLimits);
      }
      return checkLimits();
    },
  };
  startPhase(0);
  return output;
}

const endsWith = (tokens: readonly { id: number }[], stop: readonly number[], prefixLength: number): boolean => {
  if (prefixLength > tokens.length) return false;
  for (let i = 0; i < prefixLength; i++) if (tokens[tokens.length - prefixLength + i]?.id !== stop[i]) return false;
  return true;
};

/** Counts the last tokens that are a proper prefix of a stop sequence. */
function countOpenStopTokens(tokens: readonly { id: number }[], stops: readonly (readonly number[])[]): number {
  let longest = 0;
  for (const stop of stops)
    for (let length = Math.min(stop.length - 1, tokens.length); length > longest; length--)
      if (endsWith(tokens, stop, length)) longest = length;
  return longest;
}
