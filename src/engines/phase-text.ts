import { createStopMatcher, type StopMatcher } from '../lib/stop-matcher.ts';
import { createUtf8StreamDecoder } from '../lib/utf8-stream-decoder.ts';
import type { GenerationPhase } from '../core/prompt.ts';
import { createCutPointTracker, type CutPointTracker, type RetainedContext } from './cut-point-tracker.ts';
import { TRIGGER_WINDOW_CHARS } from './limits.ts';
import type { TriggerMatcher } from './trigger-matcher.ts';

/** The parts of a sampled token that its text needs. */
interface TextToken<L> {
  readonly id: number;
  readonly bytes: Uint8Array;
  readonly logprobs?: L;
}

interface PendingToken<L> {
  readonly token: TextToken<L>;
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
export type PhaseEndMatch =
  | { readonly type: 'text'; readonly text: string; readonly rest: string }
  | { readonly type: 'trigger'; readonly phase: number; readonly rest: string };

/** Receives text that may be output, with the log probabilities of the tokens that are complete with it. */
export type EmitText<L> = (id: number, text: string, logprobs: readonly L[]) => void;

/** The text of one phase of a choice: what was received, what was output, and what is held back between the two. */
export interface PhaseText<L> {
  /** Index of the phase. */
  readonly phase: number;
  readonly hasTriggers: boolean;
  readonly triggers: TriggerMatcher;
  readonly emit: EmitText<L>;
  readonly decoder: ReturnType<typeof createUtf8StreamDecoder>;
  readonly matcher: StopMatcher;
  readonly cutPoints: CutPointTracker;
  /** The end of the text of the phase, for its triggers. */
  recentText: string;
  /** Tokens whose text has not been emitted completely. */
  readonly pending: PendingToken<L>[];
  charsReceived: number;
  charsEmitted: number;
}

/** @param stops Stop strings that apply to this phase, besides its own `until.text`. */
export function createPhaseText<L>(
  phase: number,
  { until, triggers: ownTriggers }: Pick<GenerationPhase, 'until' | 'triggers'>,
  deps: { readonly stops: readonly string[]; readonly triggers: TriggerMatcher; readonly emit: EmitText<L> },
): PhaseText<L> {
  const { stops, triggers, emit } = deps;
  return {
    phase,
    hasTriggers: ownTriggers !== undefined,
    triggers,
    emit,
    decoder: createUtf8StreamDecoder(),
    matcher: createStopMatcher(until?.text === undefined ? stops : [...stops, until.text]),
    cutPoints: createCutPointTracker(),
    recentText: '',
    pending: [],
    charsReceived: 0,
    charsEmitted: 0,
  };
}

/** Adds one token and emits its text, up to the text that ends the phase. */
export function addToken<L>(state: PhaseText<L>, token: TextToken<L>): PhaseEndMatch | undefined {
  const { matcher, cutPoints } = state;
  const piece = state.decoder.push(token.bytes);
  const isPartial = piece === '' && token.bytes.length > 0;
  const startChar = state.charsReceived;
  state.pending.push({ token, startChar, endChar: startChar + (isPartial ? 1 : piece.length) });
  cutPoints.add(token.bytes, piece);
  state.charsReceived += piece.length;
  const trigger = state.triggers.find(state.phase, state.recentText, piece);
  if (state.hasTriggers) state.recentText = (state.recentText + piece).slice(-TRIGGER_WINDOW_CHARS);
  // A stop string counts only if it ends no later than the text of the trigger.
  const { text, match, rest = '' } = matcher.push(trigger ? piece.slice(0, trigger.end) : piece);
  if (match !== undefined) {
    emitText(state, { id: token.id, text, isComplete: hasStarted });
    return { type: 'text', text: match, rest: rest + (trigger ? piece.slice(trigger.end) : '') };
  }
  if (trigger) {
    emitText(state, { id: token.id, text: text + matcher.end(), isComplete: hasStarted });
    return { type: 'trigger', phase: trigger.phase, rest: piece.slice(trigger.end) };
  }
  emitText(state, { id: token.id, text, isComplete: hasEnded });
  cutPoints.discardBefore(state.charsEmitted);
  return undefined;
}

/**
 * Emits all text that is held back, up to a match that ends the phase. A character that a limit has cut in half is
 * dropped; otherwise it shows as U+FFFD.
 *
 * @param dropsPartialMatch Drops text that may be the first half of a text that ends the phase.
 */
export function flushText<L>(
  state: PhaseText<L>,
  { isTruncated, dropsPartialMatch = false }: { readonly isTruncated: boolean; readonly dropsPartialMatch?: boolean },
): PhaseEndMatch | undefined {
  const { text, match } = state.matcher.push(isTruncated ? '' : state.decoder.end());
  const id = state.pending.at(-1)?.token.id ?? -1;
  const heldText = match === undefined ? state.matcher.end() : '';
  emitText(state, { id, text: dropsPartialMatch ? text : text + heldText, isComplete: () => true });
  return match === undefined ? undefined : { type: 'text', text: match, rest: '' };
}

/** Returns the part of the phase that stays in the context when its output ends here. */
export const cutAtOutput = <L>({ cutPoints, charsEmitted }: PhaseText<L>): RetainedContext =>
  cutPoints.cutAt(charsEmitted);

type IsComplete = (entry: PendingToken<unknown>, charsEmitted: number) => boolean;

const hasEnded: IsComplete = ({ endChar }, charsEmitted) => endChar <= charsEmitted;

/** Whether at least one character of the token is in the output; used where a match cuts the text. */
const hasStarted: IsComplete = ({ startChar }, charsEmitted) => startChar < charsEmitted;

/** Emits the next characters, and the log probabilities of the pending tokens that are complete. */
function emitText<L>(
  state: PhaseText<L>,
  { id, text, isComplete }: { readonly id: number; readonly text: string; readonly isComplete: IsComplete },
): void {
  state.charsEmitted += text.length;
  const logprobs: L[] = [];
  let completeCount = 0;
  for (const entry of state.pending) {
    if (!isComplete(entry, state.charsEmitted)) break;
    completeCount++;
    if (entry.token.logprobs) logprobs.push(entry.token.logprobs);
  }
  state.pending.splice(0, completeCount);
  state.emit(id, text, logprobs);
}
