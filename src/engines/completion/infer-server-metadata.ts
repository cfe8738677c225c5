import { FILL_FORMATS, getPartTokens } from '../../core/fill-in-the-middle.ts';
import { TOKEN_ID_MAX } from '../../core/limits.ts';
import { TOKENIZE_CALL_CONCURRENCY } from '../limits.ts';
import { omitNullish } from '../../lib/omit-nullish.ts';
import { findBosToken } from './find-bos-token.ts';
import { isMarkup } from '../is-markup.ts';
import type { ServerTokenizer } from './server-tokenizer.ts';
import type { CompletionDiscoveryDeps, CompletionServerMetadata } from './completion-dialect.ts';
import { mapWithConcurrency } from '../../lib/map-with-concurrency.ts';

/** Metadata that a server reported, as far as it did. */
export interface ReportedMetadata extends CompletionDiscoveryDeps {
  readonly reportedContextTokens?: number;
  /** Absent if the server itself refuses invalid token ids, or does not report the size. */
  readonly vocabularySize?: number;
  readonly reportedTemplate?: string;
  readonly reportedToolTemplate?: string;
  readonly bosToken?: string;
  readonly eosToken?: string;
  /** Added tokens of the model's tokenizer, if the server reports them. */
  readonly addedTokens: readonly string[];
}

/** Texts in a template that look like special tokens. */
const MARKUP = /<[^<>\s{}'"%]{1,64}>|\[\/?[A-Z_]{2,32}\]/g;

/** Words in which a mark of another look may stand, such as `]~b]system`. */
const MARKED_WORD = /\S*[\p{P}\p{S}]\S*[\p{L}\p{N}]\S*[\p{P}\p{S}]\S*/gu;

/** Special tokens of widely used models: a template does not name all tokens of its tokenizer. */
const COMMON_SPECIAL_TOKENS = [
  '<|im_start|>',
  '<|im_end|>',
  '<|endoftext|>',
  '<|begin_of_text|>',
  '<|end_of_text|>',
  '<|start_header_id|>',
  '<|end_header_id|>',
  '<|eot_id|>',
  '<|eom_id|>',
  '<|python_tag|>',
  '<|system|>',
  '<|user|>',
  '<|assistant|>',
  '<|observation|>',
  '<|end|>',
  '<|vision_start|>',
  '<|vision_end|>',
  '<|image_pad|>',
  '<|video_pad|>',
  '<tool_call>',
  '</tool_call>',
  '<tool_response>',
  '</tool_response>',
  '<think>',
  '</think>',
  '<start_of_turn>',
  '<end_of_turn>',
  '<bos>',
  '<eos>',
  '<pad>',
  '<unk>',
  '<s>',
  '</s>',
  '[INST]',
  '[/INST]',
  '[TOOL_CALLS]',
  '[AVAILABLE_TOOLS]',
  '[/AVAILABLE_TOOLS]',
];

/**
 * Infers the metadata of a server whose tokenizer accepts one text per call and parses special tokens in every text. Such
 * servers mostly do not report their special tokens, so candidates from the template and from common models are tested.
 * @throws ServiceError when neither server nor catalogue has a chat template or a context length.
 */
export async function inferServerMetadata(reported: ReportedMetadata): Promise<CompletionServerMetadata> {
  const { client, tokenizer, addedTokens } = reported;
  const chatTemplate = reported.chatTemplate ?? reported.reportedTemplate;
  // A template of the operator serves all requests.
  const toolTemplate = reported.chatTemplate === undefined ? reported.reportedToolTemplate : undefined;
  if (chatTemplate === undefined)
    throw client.errors.createFailure(
      'does not report the chat template of its model: set chatTemplate in the catalogue entry',
    );
  const contextTokens = Math.min(reported.reportedContextTokens ?? Infinity, reported.contextTokens ?? Infinity);
  if (contextTokens === Infinity)
    throw client.errors.createFailure('does not report its context length: set contextTokens in the catalogue entry');
  const bosTokenId = await findBosToken(tokenizer);
  const [bosTokenText] = bosTokenId === undefined ? [] : await tokenizer.getTokenTexts([bosTokenId]);
  const bosToken = reported.bosToken ?? bosTokenText?.text ?? '';
  const eosToken = reported.eosToken ?? '';
  const templates = `${chatTemplate}\n${toolTemplate ?? ''}`;
  const candidates = new Set([
    ...addedTokens,
    bosToken,
    eosToken,
    ...(templates.match(MARKUP) ?? []),
    ...(await findMarkup(templates, tokenizer)),
    ...COMMON_SPECIAL_TOKENS,
    ...FILL_FORMATS.flatMap(getPartTokens),
  ]);
  candidates.delete('');
  const checked = await mapWithConcurrency([...candidates], TOKENIZE_CALL_CONCURRENCY, async (text) => ({
    text,
    isSingle: (await tokenizer.tokenizeSpecial(text)).length === 1,
  }));
  const specialTokens = checked.filter(({ isSingle }) => isSingle).map(({ text }) => text);
  return {
    model: {
      contextTokens,
      // Unknown: the server itself checks token ids.
      vocabularySize: reported.vocabularySize ?? TOKEN_ID_MAX + 1,
      chatTemplate,
      ...omitNullish({ toolTemplate }),
      specialTokens,
      bosToken,
      eosToken,
    },
    markupInText: specialTokens,
    ...omitNullish({ bosTokenId }),
  };
}

/** Finds the marks among the tokens of a template: the tokenizer recognizes them wherever they stand. */
async function findMarkup(template: string, tokenizer: ServerTokenizer): Promise<readonly string[]> {
  const words = new Set(template.match(MARKED_WORD));
  if (words.size === 0) return [];
  const tokens = await tokenizer.tokenizeSpecial([...words].join('\n'));
  const texts = await tokenizer.getTokenTexts([...new Set(tokens)]);
  return texts.map(({ text }) => text).filter(isMarkup);
}
