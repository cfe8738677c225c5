import { EMBEDDING_TOKENS_MAX } from '../limits.ts';
import type { EmbeddingEngine } from '../engine.ts';
import { createLazyLoader } from './lazy-loader.ts';
import type { NativeEmbeddings } from './native-embeddings.ts';
import type { NativeModel } from './native-model.ts';
import type { Scheduler } from './scheduler.ts';
import { RefusalError } from './refusal-error.ts';
import { tokenizeText, createTooLongError } from './tokenize-text.ts';
import type { TaskQueue } from './task-queue.ts';

export interface SideWorkDeps {
  readonly between: Scheduler['runBetweenTicks'];
  readonly taskQueue: TaskQueue;
}

/** Computes embeddings in the engine process; throws RefusalError for a rejected request. */
export type EmbedInputs = EmbeddingEngine['embed'];

/**
 * Creates the embedding function. Texts are processed one after another, each in pieces between two ticks of the
 * scheduler, so a generating request waits for at most one piece. The embedding context is created on first use.
 */
export function createEmbed(model: NativeModel, { between, taskQueue }: SideWorkDeps): EmbedInputs {
  const open = createLazyLoader(() => model.openEmbeddings({ textTokensMax: EMBEDDING_TOKENS_MAX }));

  const createVector = async (
    embeddings: NativeEmbeddings,
    tokens: readonly number[],
    isCanceled: () => boolean,
  ): Promise<readonly number[]> => {
    for (let at = 0; at < tokens.length && !isCanceled(); at += embeddings.pieceTokensMax)
      await between(() => embeddings.evaluate(tokens.slice(at, at + embeddings.pieceTokensMax), at));
    return isCanceled() ? [] : embeddings.readVector();
  };

  return async ({ owner, inputs }, signal) => {
    const embeddings = await open();
    if (!embeddings)
      throw new RefusalError({
        kind: 'unsupported',
        message: 'This model computes relevance scores, not embeddings.',
        param: 'model',
      });
    const texts: (readonly number[])[] = [];
    for (const input of inputs) {
      const tokens = tokenizeText(model, input, embeddings.textTokensMax);
      if (tokens.length === 0 || tokens.length > embeddings.textTokensMax)
        throw createTooLongError(input, { tokens: tokens.length, tokensMax: embeddings.textTokensMax });
      texts.push(tokens);
      // Gives other requests a chance to run between two texts.
      await new Promise((resolve) => setImmediate(resolve));
    }
    const vectors = await taskQueue.run(
      owner,
      texts.map((tokens) => (isCanceled) => createVector(embeddings, embeddings.addFrame(tokens), isCanceled)),
      signal,
    );
    return { vectors, tokens: texts.reduce((sum, tokens) => sum + tokens.length, 0) };
  };
}
