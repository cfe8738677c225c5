import { z } from 'zod';
import { ServiceError } from '../../core/error.ts';
import type { EmbeddingEngine, EmbeddingInput, Embeddings } from '../engine.ts';
import { ask } from '../remote/ask.ts';
import type { CallOptions, Connection } from '../remote/connection.ts';

export interface PoolingNeeds {
  readonly connection: Connection;
  /** The model's name at the server. */
  readonly model: string;
  /** Counts texts, all in one, where the server does not say what it evaluated; undefined where nobody can. */
  readonly countTexts: (texts: readonly string[], options: CallOptions) => Promise<number | undefined>;
}

const Tokens = z.int().min(0).nullish().catch(undefined);

/** What an answer cost, in the forms of several servers. */
export const PoolingUsage = z.object({ prompt_tokens: Tokens, total_tokens: Tokens }).nullish().catch(undefined);

const Index = z.int().min(0).nullish();
const Vector = z.array(z.number());

const Format = z.object({ data: z.array(z.object({ index: Index, embedding: Vector })), usage: PoolingUsage });

/** What one server says where its base address has no version: the list itself, a vector for each pooling. */
const List = z.array(z.object({ index: Index, embedding: z.tuple([Vector]) })).transform((list) => ({
  data: list.map(({ index, embedding: [embedding] }) => ({ index, embedding })),
  usage: undefined,
}));

const Answered = z.union([Format, List]);

/** Vectors by `/embeddings` of the format. */
export function createRemoteEmbeddings(needs: PoolingNeeds): EmbeddingEngine {
  const { connection, model, countTexts } = needs;
  const { faults } = connection;
  let dimensions: number | undefined;

  const embed = async (inputs: readonly EmbeddingInput[], options: CallOptions): Promise<Embeddings> => {
    const texts = inputs.map(({ text }) => text);
    const body = { model, input: texts, encoding_format: 'float' };
    const value = await ask(connection, 'embeddings', { ...options, body }).catch(naming(inputs));
    const answered = Answered.safeParse(value);
    if (!answered.success) throw faults.failed('answered with something that is no list of vectors');
    const { data, usage } = answered.data;
    const vectors = inPlaces(data, inputs.length, ({ embedding }) => embedding);
    const size = vectors?.[0]?.length ?? 0;
    if (!vectors || size === 0 || vectors.some(({ length }) => length !== size))
      throw faults.failed(`sent vectors of other lengths, or another number than ${inputs.length}`);
    dimensions ??= size;
    const tokens = usage?.prompt_tokens || usage?.total_tokens || (await countTexts(texts, options));
    return { vectors, tokens: tokens ?? inputs.length };
  };

  return {
    async dimensions() {
      if (dimensions !== undefined) return dimensions;
      const { vectors } = await embed([{ text: 'a', field: 'input' }], {});
      return vectors[0]?.length ?? 0;
    },
    embed: ({ id, inputs }, signal) => embed(inputs, { requestId: id, signal }),
  };
}

/** One value for each place, in order, whatever order they came in; undefined when a place is empty or named twice. */
export function inPlaces<Item extends { readonly index?: number | null | undefined }, Value>(
  items: readonly Item[],
  places: number,
  valueOf: (item: Item) => Value,
): readonly Value[] | undefined {
  const found = new Map(items.map((item, place) => [item.index ?? place, item]));
  if (items.length !== places) return undefined;
  const values: Value[] = [];
  for (let place = 0; place < places; place++) {
    const item = found.get(place);
    if (item === undefined) return undefined;
    values.push(valueOf(item));
  }
  return values;
}

/** A refusal of the only text is one of its field; of several, the server does not say which it means. */
export const naming =
  (inputs: readonly EmbeddingInput[]) =>
  (thrown: unknown): never => {
    const [only, ...others] = inputs;
    if (!(thrown instanceof ServiceError) || !isOfInput(thrown)) throw thrown;
    const param = others.length === 0 ? only?.field : undefined;
    throw new ServiceError('invalid-request', thrown.message, { param, cause: thrown.cause });
  };

const isOfInput = ({ kind }: ServiceError): boolean => kind === 'invalid-request' || kind === 'context-exceeded';
