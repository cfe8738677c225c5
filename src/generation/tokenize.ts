import type { Catalogue, ResolvedModel } from '../catalogue/model.ts';
import type { RequestContext } from '../core/context.ts';
import type { Message } from '../core/message.ts';
import type { TokenText } from '../engines/engine.ts';
import type { EngineLease } from '../engines/engine-registry.ts';
import { checkPromptLength, countMessageChars } from './check-prompt-length.ts';
import { toEngineOwner } from './engine-owner.ts';
import { omitNullish } from '../lib/omit-nullish.ts';
import { getModelLogFields } from './model-log-fields.ts';
import { resolveTarget, type ModelTarget } from './model-target.ts';
import { createPromptRenderer } from './prompt-renderer.ts';

/** A plain text, or a conversation that is rendered as the model's prompt. */
export type TokenizeInput =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'messages'; readonly messages: readonly Message[] };

export interface TokenizeResult {
  readonly tokens: readonly TokenText[];
  /** The rendered prompt of a conversation. */
  readonly prompt?: string;
}

/** Tokenizes an input. @throws ServiceError as the catalogue does; `unsupported` when the engine shows no tokens. */
export type Tokenize = (
  request: { readonly model: string; readonly input: TokenizeInput },
  on: ModelTarget,
  context: RequestContext,
) => Promise<TokenizeResult>;

export interface TokenizeDeps {
  readonly catalogue: Pick<Catalogue, 'resolve'>;
  readonly acquireEngine: (model: ResolvedModel) => Promise<EngineLease>;
  readonly getModelStyle: (model: ResolvedModel) => { readonly defaultSystem?: string | undefined };
}

/** Creates a tokenizer that works without admission: no queue, no limits. */
export function createTokenize({ catalogue, acquireEngine, getModelStyle }: TokenizeDeps): Tokenize {
  const getRenderer = createPromptRenderer();
  return async ({ model: name, input }, on, { owner, priority, log }) => {
    const engineOwner = toEngineOwner({ owner, ...omitNullish({ priority }) });
    const model = await resolveTarget(catalogue, name, on, owner);
    log.add(getModelLogFields(model));
    const { engine, release } = await acquireEngine(model);
    try {
      const loaded = await engine.loadModel();
      const chars = input.type === 'text' ? input.text.length : countMessageChars(input.messages);
      checkPromptLength(chars, loaded.contextTokens);
      if (input.type === 'text') {
        const segments = [{ text: input.text, special: false }];
        return { tokens: await engine.tokenize({ type: 'segments', segments }, engineOwner) };
      }
      const { defaultSystem } = getModelStyle(model);
      // The prompt is not returned here: only the server knows its own template.
      if (engine.capabilities.input === 'chat')
        return { tokens: await engine.tokenize({ type: 'messages', messages: input.messages }, engineOwner) };
      const segments = getRenderer(loaded).render(input.messages, { defaultSystem });
      const prompt = segments.map(({ text }) => text).join('');
      return { tokens: await engine.tokenize({ type: 'segments', segments }, engineOwner), prompt };
    } finally {
      release();
    }
  };
}
