import type { Catalogue, ModelInterface, ResolvedModel } from '../catalogue/model.ts';
import type { RequestContext } from '../core/context.ts';
import type { Message } from '../core/message.ts';
import type { TokenText } from '../engines/engine.ts';
import type { Lease } from '../engines/registry.ts';
import { modelFacts } from './model-facts.ts';
import { createPromptRenderer } from './prompt.ts';

/** A text as it is, or a conversation as the model would read it. */
export type TokenizeInput =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'messages'; readonly messages: readonly Message[] };

export interface Tokenized {
  readonly tokens: readonly TokenText[];
  /** The whole prompt of a conversation. */
  readonly prompt?: string;
}

/** @throws ServiceError of any kind the catalogue refuses with; `unsupported` where the engine keeps its tokens to itself. */
export type Tokenize = (
  wish: { readonly model: string; readonly input: TokenizeInput },
  on: { readonly interface: ModelInterface },
  context: RequestContext,
) => Promise<Tokenized>;

export interface TokenizeNeeds {
  readonly catalogue: Pick<Catalogue, 'resolve'>;
  readonly engineFor: (model: ResolvedModel) => Promise<Lease>;
  readonly styleOf: (model: ResolvedModel) => { readonly defaultSystem?: string | undefined };
}

/** Tokens without an answer; takes no place in any queue. */
export function createTokenize({ catalogue, engineFor, styleOf }: TokenizeNeeds): Tokenize {
  const rendererOf = createPromptRenderer();
  return async ({ model: asked, input }, { interface: wanted }, { owner, log }) => {
    const model = catalogue.resolve(asked, { interface: wanted, owner });
    log.add(modelFacts(model));
    const { engine, release } = await engineFor(model);
    try {
      const loaded = await engine.model();
      if (input.type === 'text') {
        const segments = [{ text: input.text, special: false }];
        return { tokens: await engine.tokenize({ type: 'segments', segments }) };
      }
      const { defaultSystem } = styleOf(model);
      // The server's own template is not ours to show.
      if (engine.capabilities.input === 'chat')
        return { tokens: await engine.tokenize({ type: 'messages', messages: input.messages }) };
      const segments = rendererOf(loaded)(input.messages, { defaultSystem });
      const prompt = segments.map(({ text }) => text).join('');
      return { tokens: await engine.tokenize({ type: 'segments', segments }), prompt };
    } finally {
      release();
    }
  };
}
