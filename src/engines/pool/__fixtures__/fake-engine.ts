import type { ErrorKind } from '../../../core/error.ts';
import { ServiceError } from '../../../core/error.ts';
import type { EngineEvent } from '../../../core/event.ts';
import { NO_STOP } from '../../../core/request.ts';
import { abortReason } from '../../abort-reason.ts';
import type { EngineRequest, EngineStart, LoadedModel, TextEngine } from '../../engine.ts';

/** What becomes of one start. */
export type Outcome =
  | { readonly type: 'answer'; readonly told?: Omit<EngineStart, 'batches'> }
  /** `at`: in `start`, in the iteration before any event, or after one. */
  | { readonly type: 'fail'; readonly at: 'start' | 'iteration' | 'mid-answer'; readonly kind: ErrorKind; readonly retryAfterSeconds?: number }
  /** Ends without any event. */
  | { readonly type: 'vanish' }
  /** Silent until its signal aborts. */
  | { readonly type: 'hang'; readonly at: 'start' | 'iteration' | 'mid-answer' };

export const ANSWER: Outcome = { type: 'answer' };

export interface FakeNeeds {
  readonly outcome: (request: EngineRequest) => Outcome;
  /** Hears of each start, of each event that was handed over, and of each end. */
  readonly onStart?: (request: EngineRequest) => void;
  readonly onEvent?: (request: EngineRequest) => void;
  readonly onOver?: (request: EngineRequest) => void;
}

export const MODEL: LoadedModel = {
  contextTokens: 4096,
  vocabularySize: 1000,
  specialTokens: [],
  bosToken: '',
  eosToken: '',
};

export const TEXT: EngineEvent = { type: 'text', choice: 0, text: 'Hi', tokens: 1, phase: 0 };
export const END: EngineEvent = { type: 'end', usage: { promptTokens: 1, cachedTokens: 0, completionTokens: 1 } };

/** An engine whose starts end as they are told to. Overriding its other parts is for the test. */
export function createFakeEngine({ outcome, onStart, onEvent, onOver }: FakeNeeds, parts: Partial<TextEngine> = {}): TextEngine {
  async function* play(request: EngineRequest, signal: AbortSignal, how: Outcome): AsyncGenerator<readonly EngineEvent[], void> {
    const say = (...batch: EngineEvent[]): readonly EngineEvent[] => {
      onEvent?.(request);
      return batch;
    };
    try {
      yield [];
      if (signal.aborted) throw abortReason(signal);
      if (how.type === 'vanish') return;
      if (how.type === 'hang' && how.at === 'iteration') await silence(signal);
      if (how.type === 'fail' && how.at === 'iteration') throw failure(how);
      yield say(TEXT);
      if (how.type === 'hang') await silence(signal);
      if (how.type === 'fail') throw failure(how);
      yield say(TEXT, END);
    } finally {
      onOver?.(request);
    }
  }

  return {
    state: 'ready',
    capabilities: { input: 'chat', logprobs: true, grammar: false, phases: false, cache: false, choicesMax: 4 },
    async start(request, signal) {
      onStart?.(request);
      const how = outcome(request);
      if ('at' in how && how.at === 'start') {
        try {
          if (how.type === 'hang') await silence(signal);
          else throw failure(how);
        } finally {
          onOver?.(request);
        }
      }
      return { ...(how.type === 'answer' ? how.told : {}), batches: play(request, signal, how) };
    },
    model: async () => MODEL,
    countTokens: async () => 1,
    tokenize: async () => [{ id: 1, text: 'Hi' }],
    close: async () => undefined,
    ...parts,
  };
}

const failure = ({ kind, retryAfterSeconds }: Extract<Outcome, { type: 'fail' }>): ServiceError =>
  new ServiceError(kind, `fake: ${kind}`, { retryAfterSeconds, cause: new Error('why it failed') });

const silence = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(abortReason(signal)), { once: true });
    if (signal.aborted) reject(abortReason(signal));
  });

/** A conversation; another text is another beginning. */
export const ask = (text = 'Hi', id = 'r1'): EngineRequest => ({
  id,
  owner: { workspace: 'primary', key: 'key_1' },
  input: { type: 'messages', messages: [{ role: 'user', content: [{ type: 'text', text }] }] },
  sampling: {},
  stop: NO_STOP,
  choices: 1,
  phases: [],
});
