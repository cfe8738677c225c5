import { z } from 'zod';
import { LLAMA_ASKED_AT_ONCE, TOKEN_ID_MAX, UPSTREAM_ASK_MS, VOCABULARY_SLICE_TOKENS } from '../../core/limits.ts';
import { present } from '../../lib/present.ts';
import type { TokenText } from '../engine.ts';
import { ask } from '../remote/ask.ts';
import { beginToken } from './begin-token.ts';
import type { DiscoveryNeeds, ServerFacts } from './dialect.ts';
import { someAtATime } from './some-at-a-time.ts';
import type { PromptPiece, TokenServer } from './token-server.ts';

const Props = z.object({
  default_generation_settings: z.object({ n_ctx: z.int().min(1) }),
  total_slots: z.int().min(1).nullish(),
  chat_template: z.string().nullish(),
  bos_token: z.string().nullish(),
  eos_token: z.string().nullish(),
});

const Models = z.object({
  data: z.array(z.object({ meta: z.object({ n_vocab: z.int().min(1).nullish() }).nullish() })),
});

/** What reads like structure. Vocabularies also define runs of blanks and the like, which is no danger in a text. */
const MARKUP = /^[<[].+[>\]]$/s;

/** What llama.cpp's server says of itself and of its model, and which of its tokens are special: that it is asked by trying. */
export async function llamaFacts({
  connection,
  tokens,
  contextTokens,
  chatTemplate,
}: DiscoveryNeeds): Promise<ServerFacts> {
  const { faults } = connection;
  const get = (path: string): Promise<unknown> => ask(connection, path, { answerMs: UPSTREAM_ASK_MS });
  const props = Props.safeParse(await get('/props'));
  if (!props.success) throw faults.failed('answered /props in a form that is not known: is it a llama-server?');
  const models = Models.safeParse(await get('/v1/models'));
  const vocabularySize = models.data?.data[0]?.meta?.n_vocab ?? undefined;
  const { default_generation_settings: settings, total_slots: slots } = props.data;
  const bosToken = props.data.bos_token ?? '';
  const eosToken = props.data.eos_token ?? '';
  const template = chatTemplate ?? props.data.chat_template ?? '';
  const found = await specialTokens(tokens, { vocabularySize, ends: [eosToken, bosToken] });
  return {
    model: {
      contextTokens: Math.min(settings.n_ctx, contextTokens ?? Infinity),
      vocabularySize: vocabularySize ?? TOKEN_ID_MAX + 1,
      ...(template === '' ? {} : { chatTemplate: template }),
      specialTokens: found.map(({ text }) => text),
      bosToken,
      eosToken,
      abilities: { logprobs: true },
    },
    markupInText: found.filter(({ isInText }) => isInText).map(({ text }) => text),
    ...present({ slots, beginToken: await beginToken(tokens) }),
  };
}

interface SpecialToken {
  readonly text: string;
  /** It becomes one token also where no text should. */
  readonly isInText: boolean;
}

/**
 * All of the vocabulary that reads like structure is made into tokens as plain text, in one list with the end token between:
 * what comes out as itself is one token in every text. The rest is tried as special text.
 */
async function specialTokens(
  tokens: TokenServer,
  { vocabularySize, ends }: { readonly vocabularySize: number | undefined; readonly ends: readonly string[] },
): Promise<readonly SpecialToken[]> {
  const between = await singleOf(tokens, ends);
  if (between === undefined || vocabularySize === undefined) return [];
  const candidates: TokenText[] = [];
  for (let from = 0; from < vocabularySize; from += VOCABULARY_SLICE_TOKENS) {
    const length = Math.min(VOCABULARY_SLICE_TOKENS, vocabularySize - from);
    const slice = await tokens.texts(Array.from({ length }, (_, at) => from + at));
    candidates.push(...slice.filter(({ text }) => MARKUP.test(text)));
  }
  const pieces = candidates.flatMap(({ text }): PromptPiece[] => [
    { type: 'text', text },
    { type: 'tokens', tokens: [between] },
  ]);
  const inText = candidates.length === 0 ? [] : await tokens.plain(pieces);
  const isInText = selves(candidates, { tokens: inText, between });
  const tried = await someAtATime([...candidates.entries()], LLAMA_ASKED_AT_ONCE, async ([at, { id, text }]) => {
    const alone = isInText[at] ? [id] : await tokens.special(text);
    return { text, isInText: isInText[at] === true, isSpecial: alone.length === 1 && alone[0] === id };
  });
  return tried.filter(({ isSpecial }) => isSpecial);
}

async function singleOf(tokens: TokenServer, texts: readonly string[]): Promise<number | undefined> {
  for (const text of texts) {
    const [first, ...more] = text === '' ? [] : await tokens.special(text);
    if (more.length === 0 && first !== undefined) return first;
  }
  return undefined;
}

/** Which of the candidates came out as the one token that they are. */
function selves(
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
