import { EMBEDDING_TOKENS_MAX } from '../../core/limits.ts';
import type { EmbeddingEngine } from '../engine.ts';
import { createOpened } from './opened.ts';
import type { NativeEmbeddings } from './native-embeddings.ts';
import type { NativeModel } from './native-model.ts';
import type { Scheduler } from './scheduler.ts';
import { RefusedError } from './refused-error.ts';
import { textTokens, tooLong } from './text-tokens.ts';
import type { Turns } from './turns.ts';

export interface SideWorkNeeds {
  readonly between: Scheduler['between'];
  readonly turns: Turns;
}

/** What the engine process does for `EmbeddingEngine.embed`, with RefusedError for refusals. */
export type Embed = EmbeddingEngine['embed'];

/**
 * Makes vectors, one text after another, each in pieces between two ticks of the scheduler: nobody who generates waits for
 * more than a piece. The context for it is made when it is asked for first.
 */
export function createEmbed(model: NativeModel, { between, turns }: SideWorkNeeds): Embed {
  const opened = createOpened(() => model.openEmbeddings({ textTokensMax: EMBEDDING_TOKENS_MAX }));

  const vectorOf = async (
    native: NativeEmbeddings,
    tokens: readonly number[],
    isOver: () => boolean,
  ): Promise<readonly number[]> => {
    for (let at = 0; at < tokens.length && !isOver(); at += native.pieceTokensMax)
      await between(() => native.evaluate(tokens.slice(at, at + native.pieceTokensMax), at));
    return isOver() ? [] : native.vector();
  };

  return async ({ owner, inputs }, signal) => {
    const native = await opened();
    if (!native)
      throw new RefusedError({ kind: 'unsupported', message: 'This model makes scores, no vectors.', param: 'model' });
    const texts: (readonly number[])[] = [];
    for (const input of inputs) {
      const tokens = textTokens(model, input, native.textTokensMax);
      if (tokens.length === 0 || tokens.length > native.textTokensMax)
        throw tooLong(input, { tokens: tokens.length, max: native.textTokensMax });
      texts.push(tokens);
      // Between two texts everybody else is served.
      await new Promise((resolve) => setImmediate(resolve));
    }
    const vectors = await turns.run(
      owner,
      texts.map((tokens) => (isOver) => vectorOf(native, native.framed(tokens), isOver)),
      signal,
    );
    return { vectors, tokens: texts.reduce((sum, tokens) => sum + tokens.length, 0) };
  };
}
