import { z } from 'zod';
import { TOKEN_ID_MAX } from '../../core/limits.ts';
import { LLAMA_TOKENIZE_CALL_CONCURRENCY, UPSTREAM_QUERY_MS, VOCABULARY_SLICE_TOKENS } from '../limits.ts';
import { omitNullish } from '../../lib/omit-nullish.ts';
import type { TokenText } from '../engine.ts';
import { requestUpstreamJson } from '../remote/request-json.ts';
import { findBosToken } from './find-bos-token.ts';
import type { CompletionDiscoveryDeps, CompletionServerMetadata } from './completion-dialect.ts';
import { mapWithConcurrency } from '../../lib/map-with-concurrency.ts';
import type { PromptPiece, ServerTokenizer } from './server-tokenizer.ts';

const Props = z.object({
  default_generation_settings: z.object({ n_ctx: z.int().min(1) }),
  total_slots: z.int().min(1).nullish(),
  chat_template: z.string().nullish(),
  chat_template_tool_use: z.string().nullish(),
  bos_token: z.string().nullish(),
  eos_token: z.string().nullish(),
});

const Models = z.object({
  data: z.array(z.object({ meta: z.object({ n_vocab: z.int().min(1).nullish() }).nullish() })),
});

/** Discovers the metadata of a llama-server and its model. Special tokens are found by tokenizing candidates. */
const MARKUP = /^[<[].+[>\]]$/s;

/** Discovers the metadata of a llama-server and its model. Its special tokens are found by tokenizing candidates. */
export async function discoverLlamaServer({
  client,
  tokenizer,
  contextTokens,
  chatTemplate,
}: CompletionDiscoveryDeps): Promise<CompletionServerMetadata> {
  const { errors } = client;
  const get = (path: string): Promise<unknown> => requestUpstreamJson(client, path, { responseMs: UPSTREAM_QUERY_MS });
  const props = Props.safeParse(await get('/props'));
  if (!props.success)
    throw errors.createFailure('answered /props in an unknown format: check that it is a llama-server');
  const models = Models.safeParse(await get('/v1/models'));
  const vocabularySize = models.data?.data[0]?.meta?.n_vocab ?? undefined;
  const {
    default_generation_settings: settings,
    total_slots: slots,
    chat_template_tool_use: toolTemplate,
  } = props.data;
  const bosToken = props.data.bos_token ?? '';
  const eosToken = props.data.eos_token ?? '';
  const template = chatTemplate ?? props.data.chat_template ?? '';
  const specialTokenList = await findSpecialTokens(tokenizer, { vocabularySize, endTexts: [eosToken, bosToken] });
  return {
    model: {
      contextTokens: Math.min(settings.n_ctx, contextTokens ?? Infinity),
      vocabularySize: vocabularySize ?? TOKEN_ID_MAX + 1,
      ...(template === '' ? {} : { chatTemplate: template }),
      // A template of the operator serves all requests.
      ...(chatTemplate === undefined && toolTemplate ? { toolTemplate } : {}),
      specialTokens: specialTokenList.map(({ text }) => text),
      bosToken,
      eosToken,
      abilities: { logprobs: true },
    },
    markupInText: specialTokenList.filter(({ isInText }) => isInText).map(({ text }) => text),
    ...omitNullish({ slots, bosTokenId: await findBosToken(tokenizer) }),
  };
}

interface SpecialToken {
  readonly text: string;
  /** The tokenizer makes one token of it even where special tokens are not parsed. */
  readonly isInText: boolean;
}

/**
 * Finds the special tokens of a vocabulary. All entries that look like markup are tokenized as plain text in one call,
 * separated by the end token: entries that stay a single token are special in every text. The others are tokenized as
 * special text, one by one.
 */
async function findSpecialTokens(
  tokens: ServerTokenizer,
  { vocabularySize, endTexts }: { readonly vocabularySize: number | undefined; readonly endTexts: readonly string[] },
): Promise<readonly SpecialToken[]> {
  const separator = await findSingleToken(tokens, endTexts);
  if (separator === undefined || vocabularySize === undefined) return [];
  const candidates: TokenText[] = [];
  for (let from = 0; from < vocabularySize; from += VOCABULARY_SLICE_TOKENS) {
    const length = Math.min(VOCABULARY_SLICE_TOKENS, vocabularySize - from);
    const slice = await tokens.getTokenTexts(Array.from({ length }, (_, at) => from + at));
    candidates.push(...slice.filter(({ text }) => MARKUP.test(text)));
  }
  const pieces = candidates.flatMap(({ text }): PromptPiece[] => [
    { type: 'text', text },
    { type: 'tokens', tokens: [separator] },
  ]);
  const inlineTokens = candidates.length === 0 ? [] : await tokens.tokenizePieces(pieces);
  const isInText = matchSingleTokens(candidates, { tokens: inlineTokens, between: separator });
  const checked = await mapWithConcurrency(
    [...candidates.entries()],
    LLAMA_TOKENIZE_CALL_CONCURRENCY,
    async ([at, { id, text }]) => {
      const alone = isInText[at] ? [id] : await tokens.tokenizeSpecial(text);
      return { text, isInText: isInText[at] === true, isSpecial: alone.length === 1 && alone[0] === id };
    },
  );
  return checked.filter(({ isSpecial }) => isSpecial);
}

async function findSingleToken(tokens: ServerTokenizer, texts: readonly string[]): Promise<number | undefined> {
  for (const text of texts) {
    const [first, ...more] = text === '' ? [] : await tokens.tokenizeSpecial(text);
    if (more.length === 0 && first !== undefined) return first;
  }
  return undefined;
}

/** Returns which candidates were tokenized to their own id. */
function matchSingleTokens(
  candidates: readonly TokenText[],
  { tokens, between }: { readonly tokens: readonly number[]; readonly between: number },
): readonly boolean[] {
  let at = 0;
  return candidates.map(({ id }) => {
    const isSelf = tokens[at] === id && tokens[at + 1] === between;
    at = (isSelf ? at + 1 : tokens.indexOf(between, at)) + 1;
    return isSelf;
  });
}
