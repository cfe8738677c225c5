import { z } from 'zod';
import { ServiceError } from '../../core/error.ts';
import type { EmbeddingEngine, EmbeddingInput, Embeddings } from '../engine.ts';
import { requestUpstreamJson } from '../remote/request-json.ts';
import type { UpstreamCallOptions, UpstreamClient } from '../remote/upstream-client.ts';

export interface PoolingDeps {
  readonly client: UpstreamClient;
  /** Model name at the server. */
  readonly model: string;
  /** Counts the tokens of all texts together, for a server that does not report them; undefined if nothing can count. */
  readonly countTexts: (texts: readonly string[], options: UpstreamCallOptions) => Promise<number | undefined>;
}

const Tokens = z.int().min(0).nullish().catch(undefined);

/** Usage in the forms of several servers. */
export const PoolingUsage = z.object({ prompt_tokens: Tokens, total_tokens: Tokens }).nullish().catch(undefined);

const Index = z.int().min(0).nullish();
const Vector = z.array(z.number());

const OpenAiEmbeddings = z.object({
  data: z.array(z.object({ index: Index, embedding: Vector })),
  usage: PoolingUsage,
});

/** Response of llama-server's route without a version: a list with one vector per pooled sequence. */
const EmbeddingsList = z.array(z.object({ index: Index, embedding: z.tuple([Vector]) })).transform((list) => ({
  data: list.map(({ index, embedding: [embedding] }) => ({ index, embedding })),
  usage: undefined,
}));

const EmbeddingsResponse = z.union([OpenAiEmbeddings, EmbeddingsList]);

/** Computes embeddings with the OpenAI-compatible `/embeddings` route. */
export function createRemoteEmbeddings(deps: PoolingDeps): EmbeddingEngine {
  const { client, model, countTexts } = deps;
  const { errors } = client;
  let dimensions: number | undefined;

  const embed = async (inputs: readonly EmbeddingInput[], options: UpstreamCallOptions): Promise<Embeddings> => {
    const texts = inputs.map(({ text }) => text);
    const body = { model, input: texts, encoding_format: 'float' };
    const value = await requestUpstreamJson(client, 'embeddings', { ...options, body }).catch(
      attributeInputError(inputs),
    );
    const parsed = EmbeddingsResponse.safeParse(value);
    if (!parsed.success) throw errors.createFailure('sent a response without a valid list of vectors');
    const { data, usage } = parsed.data;
    const vectors = orderByIndex(data, inputs.length, ({ embedding }) => embedding);
    const size = vectors?.[0]?.length ?? 0;
    if (!vectors || size === 0 || vectors.some(({ length }) => length !== size))
      throw errors.createFailure(`did not send ${inputs.length} vectors of the same length`);
    dimensions ??= size;
    const tokens = usage?.prompt_tokens || usage?.total_tokens || (await countTexts(texts, options));
    return { vectors, tokens: tokens ?? inputs.length };
  };

  return {
    async getDimensions() {
      if (dimensions !== undefined) return dimensions;
      const { vectors } = await embed([{ text: 'a', field: 'input' }], {});
      return vectors[0]?.length ?? 0;
    },
    embed: ({ id, inputs }, signal) => embed(inputs, { requestId: id, signal }),
  };
}

/** Orders values by index, starting at 0; undefined if an index is missing or repeated. */
export function orderByIndex<Item extends { readonly index?: number | null | undefined }, Value>(
  items: readonly Item[],
  count: number,
  getValue: (item: Item) => Value,
): readonly Value[] | undefined {
  const itemsByIndex = new Map(items.map((item, position) => [item.index ?? position, item]));
  if (items.length !== count) return undefined;
  const values: Value[] = [];
  for (let position = 0; position < count; position++) {
    const item = itemsByIndex.get(position);
    if (item === undefined) return undefined;
    values.push(getValue(item));
  }
  return values;
}

/** Attributes the refusal of a single text to its field; for several texts the refused one is unknown. */
export const attributeInputError =
  (inputs: readonly EmbeddingInput[]) =>
  (thrown: unknown): never => {
    const [only, ...others] = inputs;
    if (!(thrown instanceof ServiceError) || !isInputError(thrown)) throw thrown;
    const param = others.length === 0 ? only?.field : undefined;
    throw new ServiceError('invalid-request', thrown.message, { param, cause: thrown.cause });
  };

const isInputError = ({ kind }: ServiceError): boolean => kind === 'invalid-request' || kind === 'context-exceeded';
