import type { RequestContext } from '../../../core/context.ts';
import type { FinishReason, GenerationEvent } from '../../../core/event.ts';
import { textOf } from '../../../core/message.ts';
import type { GenerationRequest } from '../../../core/request.ts';
import { createScriptedEngine } from '../../../engines/scripted/scripted-engine.ts';
import { collect } from '../../collect.ts';
import { ENTRY, REQUEST } from '../../__fixtures__/house.ts';
import { findLanguage } from '../languages.ts';
import type { Language } from '../languages.ts';
import { createTranslate } from '../translate.ts';
import type { TranslationOptions, TranslationWish } from '../translation.ts';

export function language(name: string): Language {
  const found = findLanguage(name, 'all');
  if (!found) throw new Error(`${name} is no language`);
  return found;
}

/** One run as the model sees it. */
export interface Asked {
  /** The text alone. */
  readonly text: string;
  readonly instruction: string;
  /** Earlier turns: source, target, source, … */
  readonly examples: readonly string[];
  readonly request: GenerationRequest;
}

/** Tokens: how many the answer takes, 1 if it does not say. */
export type Answer = (
  asked: Asked,
) => string | { readonly text: string; readonly reason: FinishReason; readonly tokens?: number };

export const OPTIONS: TranslationOptions = {
  source: language('English'),
  target: language('German'),
  terms: [],
  memory: [],
};

export const wishFor = (
  text: string,
  options?: Partial<TranslationOptions>,
  request: Partial<GenerationRequest> = {},
): TranslationWish => ({
  request: { ...REQUEST, messages: [{ role: 'user', content: [{ type: 'text', text }] }], ...request },
  options: { ...OPTIONS, ...options },
  field: 'messages',
});

export const CONTEXT: RequestContext = {
  requestId: 'r',
  owner: { workspace: 'w', region: 'cn-beijing', keyId: 'k' },
  signal: new AbortController().signal,
  log: { add: () => undefined, warn: () => undefined },
};

/** Translation over a model that answers as it is told: ten tokens read and one written for each run. */
export function createTranslator(answer: Answer) {
  const asked: Asked[] = [];
  const engine = createScriptedEngine({ script: () => [], contextTokens: 100_000 });
  const translate = createTranslate({
    catalogue: { resolve: (model) => ({ asked: model, entry: ENTRY }) },
    engineFor: () => Promise.resolve({ engine, release: () => undefined }),
    detectLanguage: () => Promise.resolve(language('French')),
    generate: (request) => {
      const texts = request.messages.map(textOf);
      const run: Asked = {
        text: texts.at(-1) ?? '',
        instruction: texts[0] ?? '',
        examples: texts.slice(1, -1),
        request,
      };
      asked.push(run);
      const said = answer(run);
      const { text, reason, tokens = 1 } =
        typeof said === 'string' ? { text: said, reason: 'stop' as const } : said;
      return Promise.resolve({ batches: saying(text, reason, tokens), ignored: ['max_tokens(clamped)', 'top_k'] });
    },
  });
  return {
    asked,
    translate,
    /** The whole translation, and what is told of it. */
    async whole(wish: TranslationWish) {
      const { batches, ignored, terms } = await translate(wish, { interface: 'chat' }, CONTEXT);
      const result = await collect(batches);
      const text = result.choices.flatMap(({ blocks }) => blocks.map((block) => block.text)).join('');
      return { text, reason: result.choices[0]?.reason, usage: result.usage, ignored, terms: terms() };
    },
  };
}

async function* saying(
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
