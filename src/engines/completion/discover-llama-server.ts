import { z } from 'zod';
import { TOKEN_ID_MAX } from '../../core/limits.ts';
import { isMarkup } from '../is-markup.ts';
import { UPSTREAM_QUERY_MS, VOCABULARY_SLICE_TOKENS } from '../limits.ts';
import { omitNullish } from '../../lib/omit-nullish.ts';
import type { TokenText } from '../engine.ts';
import { requestUpstreamJson } from '../remote/request-json.ts';
import { findBosToken } from './find-bos-token.ts';
import type { CompletionDiscoveryDeps, CompletionServerMetadata } from './completion-dialect.ts';
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

/** Texts that may be special tokens: with a symbol, and not too short. */
const CANDIDATE = /[^\s\p{L}\p{N}\p{M}]/u;
const CANDIDATE_CHARS_MIN = 3;

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
 * Finds the special tokens of a vocabulary. All candidates are tokenized twice, as plain and as special text. Control
 * tokens are themselves in special text only. What is itself in plain text too is a special token or an ordinary one,
 * and only its look tells.
 */
async function findSpecialTokens(
  tokens: ServerTokenizer,
  { vocabularySize, endTexts }: { readonly vocabularySize: number | undefined; readonly endTexts: readonly string[] },
): Promise<readonly SpecialToken[]> {
  const separator = await findSingleToken(tokens, endTexts);
  if (separator === undefined || vocabularySize === undefined) return [];
  const found: SpecialToken[] = [];
  for (let from = 0; from < vocabularySize; from += VOCABULARY_SLICE_TOKENS) {
    const length = Math.min(VOCABULARY_SLICE_TOKENS, vocabularySize - from);
    const slice = await tokens.getTokenTexts(Array.from({ length }, (_, at) => from + at));
    const candidates = slice.filter(({ text }) => text.length >= CANDIDATE_CHARS_MIN && CANDIDATE.test(text));
    const [isInText, isSpecial] = await Promise.all(
      [false, true].map((parsesSpecial) => findSingleTokens(tokens, candidates, { separator, parsesSpecial })),
    );
    for (const [at, { text }] of candidates.entries())
      if (isSpecial?.[at] && (!isInText?.[at] || isMarkup(text)))
        found.push({ text, isInText: isInText?.[at] === true });
  }
  return found;
}

async function findSingleToken(tokens: ServerTokenizer, texts: readonly string[]): Promise<number | undefined> {
  for (const text of texts) {
    const [first, ...more] = text === '' ? [] : await tokens.tokenizeSpecial(text);
    if (more.length === 0 && first !== undefined) return first;
  }
  return undefined;
}

/** Returns which candidates are tokenized to their own id, each between separators. */
async function findSingleTokens(
  tokenizer: ServerTokenizer,
  candidates: readonly TokenText[],
  { separator, parsesSpecial }: { readonly separator: number; readonly parsesSpecial: boolean },
): Promise<readonly boolean[]> {
  if (candidates.length === 0) return [];
  const pieces = candidates.flatMap(({ text }): PromptPiece[] => [
    { type: 'text', text },
    { type: 'tokens', tokens: [separator] },
  ]);
  const tokens = await tokenizer.tokenizePieces(pieces, { parsesSpecial });
  let at = 0;
  return candidates.map(({ id }) => {
    const isSelf = tokens[at] === id && tokens[at + 1] === separator;
    at = (isSelf ? at + 1 : tokens.indexOf(separator, at)) + 1;
    return isSelf;
  });
}
