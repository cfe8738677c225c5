import type { RequestContext } from '../../../core/context.ts';
import type { FinishReason, GenerationEvent } from '../../../core/event.ts';
import { getMessageText } from '../../../core/message.ts';
import type { GenerationRequest } from '../../../core/request.ts';
import { createScriptedEngine } from '../../../engines/scripted/scripted-engine.ts';
import { collectResult } from '../../collect-result.ts';
import { ENTRY, REQUEST } from '../../__fixtures__/test-generation.ts';
import { findLanguage, type Language } from '../languages.ts';
import { createTranslate } from '../translate.ts';
import type { TranslationOptions, TranslationRequest } from '../translation.ts';

export function getLanguage(name: string): Language {
  const found = findLanguage(name, 'all');
  if (!found) throw new Error(`${name} is no language`);
  return found;
}

/** One model run as the model receives it. */
export interface ModelCall {
  /** The text without instruction. */
  readonly text: string;
  readonly instruction: string;
  /** Earlier turns: source, target, source, … */
  readonly examples: readonly string[];
  readonly request: GenerationRequest;
}

/** `tokens` is the length of the answer, 1 by default. */
export type AnswerModelCall = (
  call: ModelCall,
) => string | { readonly text: string; readonly reason: FinishReason; readonly tokens?: number };

export const OPTIONS: TranslationOptions = {
  source: getLanguage('English'),
  target: getLanguage('German'),
  terms: [],
  memory: [],
};

export const createTranslationRequest = (
  text: string,
  options?: Partial<TranslationOptions>,
  request: Partial<GenerationRequest> = {},
): TranslationRequest => ({
  request: { ...REQUEST, messages: [{ role: 'user', content: [{ type: 'text', text }] }], ...request },
  options: { ...OPTIONS, ...options },
  field: 'messages',
});

export const TRANSLATION_CONTEXT: RequestContext = {
  requestId: 'r',
  owner: { workspace: 'w', region: 'cn-beijing', keyId: 'k' },
  signal: new AbortController().signal,
  log: { add: () => undefined, warn: () => undefined },
};

/** Translation over a scripted model. Each run reports ten input tokens. */
export function createTestTranslator(answer: AnswerModelCall) {
  const modelCalls: ModelCall[] = [];
  const engine = createScriptedEngine({ script: () => [], contextTokens: 100_000 });
  const translate = createTranslate({
    catalogue: { resolve: async (model) => ({ requestedName: model, entry: ENTRY }) },
    acquireEngine: () => Promise.resolve({ engine, release: () => undefined }),
    detectLanguage: () => Promise.resolve(getLanguage('French')),
    generate: (request) => {
      const texts = request.messages.map(getMessageText);
      const call: ModelCall = {
        text: texts.at(-1) ?? '',
        instruction: texts[0] ?? '',
        examples: texts.slice(1, -1),
        request,
      };
      modelCalls.push(call);
      const response = answer(call);
      const { text, reason, tokens = 1 } =
        typeof response === 'string' ? { text: response, reason: 'stop' as const } : response;
      return Promise.resolve({ batches: streamText(text, reason, tokens), ignored: ['max_tokens(clamped)', 'top_k'] });
    },
  });
  return {
    modelCalls,
    translate,
    /** Returns the complete translation and its metadata. */
    async translateAll(request: TranslationRequest) {
      const { batches, ignored, formatTermScore, formatReport } = await translate(request, { interface: 'chat' }, TRANSLATION_CONTEXT);
      const result = await collectResult(batches);
      const text = result.choices.flatMap(({ blocks }) => blocks.map((block) => block.text)).join('');
      return { text, reason: result.choices[0]?.reason, usage: result.usage, ignored, termScore: formatTermScore(), report: formatReport() };
    },
  };
}

async function* streamText(
  text: string,
  reason: FinishReason,
  tokens: number,
): AsyncGenerator<readonly GenerationEvent[]> {
  yield [
    { type: 'start', inputTokens: 10, cachedTokens: 0 },
    { type: 'block-start', choice: 0, index: 0, block: { type: 'text' } },
    { type: 'block-delta', choice: 0, index: 0, text, tokens },
  ];
  yield [
    { type: 'block-end', choice: 0, index: 0 },
    { type: 'choice-end', choice: 0, reason },
    { type: 'end', usage: { promptTokens: 10, cachedTokens: 2, completionTokens: tokens } },
  ];
}
