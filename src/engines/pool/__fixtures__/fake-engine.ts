import { ServiceError, type ErrorKind } from '../../../core/error.ts';
import type { EngineEvent } from '../../../core/event.ts';
import { NO_STOP } from '../../../core/request.ts';
import { getAbortError } from '../../get-abort-error.ts';
import type { EngineRequest, EngineRun, LoadedModel, TextEngine } from '../../engine.ts';
import { UpstreamError } from '../../upstream-error.ts';

/** Behavior of one start. */
export type FakeOutcome =
  | { readonly type: 'answer'; readonly startInfo?: Omit<EngineRun, 'batches'> }
  /** `at`: in `start`, in the iteration before any event, or after an event. */
  | { readonly type: 'fail'; readonly at: 'start' | 'iteration' | 'mid-answer'; readonly kind: ErrorKind; readonly retryAfterSeconds?: number; readonly isAmbiguous?: boolean }
  /** The stream ends without any event. */
  | { readonly type: 'vanish' }
  /** No response until the signal aborts. */
  | { readonly type: 'hang'; readonly at: 'start' | 'iteration' | 'mid-answer' };

export const ANSWER: FakeOutcome = { type: 'answer' };

export interface FakeEngineOptions {
  readonly outcome: (request: EngineRequest) => FakeOutcome;
  /** Called for each start, for each emitted batch, and for each end. */
  readonly onStart?: (request: EngineRequest) => void;
  readonly onEvent?: (request: EngineRequest) => void;
  readonly onFinish?: (request: EngineRequest) => void;
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

/** Creates an engine whose starts end as `outcome` says. `parts` replaces other methods. */
export function createFakeEngine({ outcome, onStart, onEvent, onFinish }: FakeEngineOptions, parts: Partial<TextEngine> = {}): TextEngine {
  async function* generateBatches(request: EngineRequest, signal: AbortSignal, currentOutcome: FakeOutcome): AsyncGenerator<readonly EngineEvent[], void> {
    const emitBatch = (...batch: EngineEvent[]): readonly EngineEvent[] => {
      onEvent?.(request);
      return batch;
    };
    try {
      yield [];
      if (signal.aborted) throw getAbortError(signal);
      if (currentOutcome.type === 'vanish') return;
      if (currentOutcome.type === 'hang' && currentOutcome.at === 'iteration') await waitForAbort(signal);
      if (currentOutcome.type === 'fail' && currentOutcome.at === 'iteration') throw createFakeFailure(currentOutcome);
      yield emitBatch(TEXT);
      if (currentOutcome.type === 'hang') await waitForAbort(signal);
      if (currentOutcome.type === 'fail') throw createFakeFailure(currentOutcome);
      yield emitBatch(TEXT, END);
    } finally {
      onFinish?.(request);
    }
  }

  return {
    state: 'ready',
    capabilities: { input: 'chat', logprobs: true, promptLogprobs: false, grammar: false, phases: false, cache: false, choicesMax: 4 },
    async start(request, signal) {
      onStart?.(request);
      const currentOutcome = outcome(request);
      if ('at' in currentOutcome && currentOutcome.at === 'start') {
        try {
          if (currentOutcome.type === 'hang') await waitForAbort(signal);
          else throw createFakeFailure(currentOutcome);
        } finally {
          onFinish?.(request);
        }
      }
      return { ...(currentOutcome.type === 'answer' ? currentOutcome.startInfo : {}), batches: generateBatches(request, signal, currentOutcome) };
    },
    loadModel: async () => MODEL,
    countTokens: async () => 1,
    tokenize: async () => [{ id: 1, text: 'Hi' }],
    close: async () => undefined,
    ...parts,
  };
}

const createFakeFailure = ({ kind, retryAfterSeconds, isAmbiguous = false }: Extract<FakeOutcome, { type: 'fail' }>): ServiceError =>
  new ServiceError(kind, `fake: ${kind}`, { retryAfterSeconds, cause: new UpstreamError('why it failed', isAmbiguous ? 'answered' : undefined) });

const waitForAbort = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(getAbortError(signal)), { once: true });
    if (signal.aborted) reject(getAbortError(signal));
  });

/** Creates a conversation request; another text is another conversation. */
export const createTestRequest = (text = 'Hi', id = 'r1', key = 'key_1'): EngineRequest => ({
  id,
  owner: { workspace: 'primary', key },
  input: { type: 'messages', messages: [{ role: 'user', content: [{ type: 'text', text }] }] },
  sampling: {},
  stop: NO_STOP,
  choices: 1,
  phases: [],
});
