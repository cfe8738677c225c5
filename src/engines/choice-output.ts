import { assert } from '../lib/assert.ts';
import type { FinishReason } from '../core/event.ts';
import { EMPTY_PHASES_MAX } from './limits.ts';
import type { GenerationPhase, PromptSegment } from '../core/prompt.ts';
import type { RetainedContext } from './cut-point-tracker.ts';
import type { EngineRequest } from './engine.ts';
import { addToken, createPhaseText, cutAtOutput, flushText, type PhaseEndMatch, type PhaseText } from './phase-text.ts';
import { releaseHeldTokens } from './stop-tokens.ts';
import type { TriggerMatcher } from './trigger-matcher.ts';

/** One token from the sampler. `L` is the type of its log probabilities. */
export interface SampledToken<L> {
  readonly id: number;
  /** Number of tokens, for servers that report several together; default 1. `id` is then the last of them. */
  readonly count?: number;
  readonly bytes: Uint8Array;
  /** The model's own end-of-generation token. */
  readonly isEndToken: boolean;
  /** Log probabilities; those of an end token are output if it ends the answer. */
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

const SINGLE_ANSWER: readonly GenerationPhase[] = [{ kind: 'answer' }];

export const createChoiceOutput = <L>(options: OutputOptions, deps: OutputDeps<L>): ChoiceOutput<L> =>
  new PhasedOutput(options, deps);

const MORE: PushResult = { type: 'more' };
const createEnd = (reason: FinishReason): ChoiceEnd => ({ type: 'finished', reason });
const createStopEnd = (stop: string): ChoiceEnd => ({ type: 'finished', reason: 'stop', stop });

// A class with plain fields: its methods are not created anew for each choice, and an object literal with a getter would
// get its own hidden class in V8, which keeps everything the getter refers to alive until the next full garbage
// collection.
class PhasedOutput<L> implements ChoiceOutput<L> {
  phase = 0;
  kind: GenerationPhase['kind'] = 'answer';
  totalTokens = 0;
  thoughtTokens = 0;
  private readonly options: OutputOptions;
  private readonly deps: OutputDeps<L>;
  private readonly phases: readonly GenerationPhase[];
  private current: GenerationPhase;
  private text: PhaseText<L>;
  private phaseTokens = 0;
  private phasePushes = 0;
  private unreportedTokens = 0;
  private emptyPhasesInRow = 0;
  /** Tokens that may still become a stop sequence of token ids. */
  private heldTokens: SampledToken<L>[] = [];

  constructor(options: OutputOptions, deps: OutputDeps<L>) {
    this.options = options;
    this.deps = deps;
    this.phases = options.phases.length > 0 ? options.phases : SINGLE_ANSWER;
    this.current = this.getPhase(0);
    this.kind = this.current.kind;
    this.text = this.createText();
  }

  push(token: SampledToken<L>): PushResult {
    if (token.isEndToken) return this.endAtEndToken(token);
    this.countTokens(token.count ?? 1);
    const stops = this.kind === 'answer' ? this.options.stop.tokens : [];
    if (stops.length === 0 && this.heldTokens.length === 0) return this.applyMatch(addToken(this.text, token));
    this.heldTokens.push(token);
    const { released, isStopped } = releaseHeldTokens(this.heldTokens, stops);
    const match = this.addTokens(released);
    if (!isStopped) return this.applyMatch(match);
    const lastMatch = match ?? flushText(this.text, { isTruncated: false });
    return lastMatch ? this.endAtMatch(lastMatch) : createStopEnd('');
  }

  finishAtContextLimit(): ChoiceEnd {
    const match = this.flush({ isTruncated: true });
    return match?.type === 'text' && this.isStop(match.text) ? createStopEnd(match.text) : createEnd('length');
  }

  private getPhase(position: number): GenerationPhase {
    const found = this.phases[position];
    assert(found, 'the phases of a call lead to each other');
    return found;
  }

  private startPhase(position: number): void {
    this.current = this.getPhase(position);
    this.phase = position;
    this.kind = this.current.kind;
    this.text = this.createText();
    this.phaseTokens = 0;
    this.phasePushes = 0;
    this.heldTokens = [];
  }

  private createText(): PhaseText<L> {
    return createPhaseText<L>(this.phase, this.current, {
      stops: this.kind === 'answer' ? this.options.stop.strings : [],
      triggers: this.deps.triggers,
      emit: (id, text, logprobs) => this.emit(id, text, logprobs),
    });
  }

  private emit(id: number, text: string, textLogprobs: readonly L[]): void {
    const logprobs = this.kind === 'answer' ? textLogprobs : [];
    if (text === '' && logprobs.length === 0) return;
    const delta = { phase: this.phase, id, tokens: this.unreportedTokens, text };
    this.deps.onDelta(logprobs.length > 0 ? { ...delta, logprobs } : delta);
    this.unreportedTokens = 0;
  }

  private countTokens(count: number): void {
    this.phasePushes++;
    this.phaseTokens += count;
    this.totalTokens += count;
    this.unreportedTokens += count;
    if (this.kind === 'thought') this.thoughtTokens += count;
  }

  /** Adds tokens up to the text that ends the phase. */
  private addTokens(tokens: readonly SampledToken<L>[]): PhaseEndMatch | undefined {
    for (const token of tokens) {
      const match = addToken(this.text, token);
      if (match) return match;
    }
    return undefined;
  }

  /** Emits all tokens and all text that are held back, up to a match that ends the phase. */
  private flush(how: { readonly isTruncated: boolean }): PhaseEndMatch | undefined {
    // A limit may end a thought inside its end mark, whose first half belongs neither to the thought nor to the answer.
    const dropsPartialMatch = this.kind === 'thought';
    return this.addTokens(this.heldTokens.splice(0)) ?? flushText(this.text, { ...how, dropsPartialMatch });
  }

  private applyMatch(match: PhaseEndMatch | undefined): PushResult {
    return match ? this.endAtMatch(match) : this.checkLimits();
  }

  private checkLimits(): PushResult {
    const isLimitReached = this.isTotalLimitReached() || this.isAnswerLimitReached();
    if (!isLimitReached && this.phaseTokens < (this.current.until?.tokens ?? Infinity)) return MORE;
    const match = this.flush({ isTruncated: true });
    if (match) return this.endAtMatch(match);
    return isLimitReached ? createEnd('length') : this.endPhase(cutAtOutput(this.text), 'length');
  }

  private endAtEndToken({ id, logprobs }: SampledToken<L>): PushResult {
    const match = this.flush({ isTruncated: false });
    if (match) return this.endAtMatch(match);
    if (logprobs !== undefined) this.emit(id, '', [logprobs]);
    return this.kind === 'answer'
      ? createEnd('stop')
      : this.endPhase({ keepTokens: this.phasePushes, keepText: '' }, 'stop');
  }

  private endAtMatch(match: PhaseEndMatch): PushResult {
    // Tokens that contain removed text leave the context too, so that every kind of phase end is closed in the same
    // way.
    const retained = cutAtOutput(this.text);
    if (match.type === 'trigger') return this.enterPhase(match.phase, { ...retained, append: [], rest: match.rest });
    return this.isStop(match.text) ? createStopEnd(match.text) : this.endPhase(retained, 'stop', match.rest);
  }

  /** Handles a phase that ended by the model's end token or by `until`. */
  private endPhase(retained: RetainedContext, reason: FinishReason, rest = ''): PushResult {
    const { nextPhase, appendOnEnd = [] } = this.current;
    return nextPhase === undefined
      ? createEnd(reason)
      : this.enterPhase(nextPhase, { ...retained, append: appendOnEnd, rest });
  }

  private enterPhase(position: number, end: Omit<PhaseEnd, 'type'>): PushResult {
    if (this.isTotalLimitReached()) return createEnd('length');
    this.emptyPhasesInRow = this.phaseTokens === 0 ? this.emptyPhasesInRow + 1 : 0;
    if (this.emptyPhasesInRow > EMPTY_PHASES_MAX) return createEnd('stop');
    this.startPhase(position);
    return this.isAnswerLimitReached() ? createEnd('length') : { type: 'phase-end', ...end };
  }

  private isStop(text: string): boolean {
    return this.kind === 'answer' && this.options.stop.strings.includes(text);
  }

  private isTotalLimitReached(): boolean {
    return this.totalTokens >= (this.options.maxTotalTokens ?? Infinity);
  }

  private isAnswerLimitReached(): boolean {
    return this.kind !== 'thought' && this.totalTokens - this.thoughtTokens >= (this.options.maxTokens ?? Infinity);
  }
}
