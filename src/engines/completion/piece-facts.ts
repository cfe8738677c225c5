import { TOKEN_ID_MAX, TOKEN_SERVER_CALLS_AT_ONCE } from '../../core/limits.ts';
import { present } from '../../lib/present.ts';
import { beginToken } from './begin-token.ts';
import type { DiscoveryNeeds, ServerFacts } from './dialect.ts';
import { someAtATime } from './some-at-a-time.ts';

/** What a server told of itself, as far as it did. */
export interface PieceServer extends DiscoveryNeeds {
  readonly serverTokens?: number;
  /** Absent: it refuses ids of no token by itself, or tells nobody which they are. */
  readonly vocabularySize?: number;
  readonly serverTemplate?: string;
  readonly bosToken?: string;
  readonly eosToken?: string;
  /** Tokens that the model's tokenizer adds to its vocabulary, where it tells them. */
  readonly added: readonly string[];
}

/** What reads like structure in a template. */
const MARKUP = /<[^<>\s{}'"%]{1,64}>|\[\/?[A-Z_]{2,32}\]/g;

/** Of models that are often served: a template does not name all that its tokenizer knows. */
const OFTEN = [
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
  '<|fim_prefix|>',
  '<|fim_middle|>',
  '<|fim_suffix|>',
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
 * The facts of a server whose tokenizer takes one text at a time and finds special tokens in every one. Which texts those
 * are it mostly does not tell: what the template and well-known models hold is tried.
 * @throws ServiceError where nobody tells the template, or how much the context holds.
 */
export async function pieceFacts(server: PieceServer): Promise<ServerFacts> {
  const { connection, tokens, added } = server;
  const chatTemplate = server.chatTemplate ?? server.serverTemplate;
  if (chatTemplate === undefined)
    throw connection.faults.failed(
      'does not tell the chat template of its model: the catalogue entry has to (chatTemplate)',
    );
  const contextTokens = Math.min(server.serverTokens ?? Infinity, server.contextTokens ?? Infinity);
  if (contextTokens === Infinity)
    throw connection.faults.failed(
      'does not tell how much its context holds: the catalogue entry has to (contextTokens)',
    );
  const begin = await beginToken(tokens);
  const [begins] = begin === undefined ? [] : await tokens.texts([begin]);
  const bosToken = server.bosToken ?? begins?.text ?? '';
  const eosToken = server.eosToken ?? '';
  const candidates = new Set([...added, bosToken, eosToken, ...(chatTemplate.match(MARKUP) ?? []), ...OFTEN]);
  candidates.delete('');
  const tried = await someAtATime([...candidates], TOKEN_SERVER_CALLS_AT_ONCE, async (text) => ({
    text,
    isSingle: (await tokens.special(text)).length === 1,
  }));
  const specialTokens = tried.filter(({ isSingle }) => isSingle).map(({ text }) => text);
  return {
    model: {
      contextTokens,
      // Not told: which token ids there are is for the server to say.
      vocabularySize: server.vocabularySize ?? TOKEN_ID_MAX + 1,
      chatTemplate,
      specialTokens,
      bosToken,
      eosToken,
    },
    markupInText: specialTokens,
    ...present({ beginToken: begin }),
  };
}
