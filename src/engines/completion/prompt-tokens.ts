import { PROMPT_PIECES_KEPT_CHARS_MAX, PROMPT_PIECES_KEPT_MAX } from '../../core/limits.ts';
import { ServiceError } from '../../core/error.ts';
import type { PromptSegment } from '../../core/prompt.ts';
import { createLru } from '../../lib/lru.ts';
import { breakMarkup } from '../break-markup.ts';
import type { EngineInput } from '../engine.ts';
import type { ServerFacts } from './dialect.ts';
import type { PromptPiece, TokenServer } from './token-server.ts';

type TokenInput = Exclude<EngineInput, { readonly type: 'messages' }>;

/** Prompts as tokens. Only `special` segments may become special tokens, whatever a caller's text reads. */
export interface PromptTokens {
  /**
   * A whole prompt.
   * @throws ServiceError `invalid-request` for a token id outside the vocabulary; whatever the server fails with.
   */
  ofInput(input: TokenInput, signal?: AbortSignal): Promise<readonly number[]>;
  /** What goes on behind other tokens. */
  ofSegments(segments: readonly PromptSegment[], signal?: AbortSignal): Promise<readonly number[]>;
  /** The same for pieces whose special tokens are known. */
  ofPieces(pieces: readonly PromptPiece[], signal?: AbortSignal): Promise<readonly number[]>;
  /** The tokens to be told or counted: text alone, without a special segment, is no prompt, and no token begins it. */
  toTell(input: TokenInput): Promise<readonly number[]>;
}

export function createPromptTokens(server: TokenServer, facts: ServerFacts): PromptTokens {
  const kept = createLru<readonly number[]>({
    entriesMax: PROMPT_PIECES_KEPT_MAX,
    weightMax: PROMPT_PIECES_KEPT_CHARS_MAX,
  });

  /** Templates have few of these, and each prompt has them all. */
  const specialTokens = async (text: string): Promise<readonly number[]> => {
    const known = kept.get(text);
    if (known) return known;
    const tokens = await server.special(text);
    kept.set(text, tokens, text.length);
    return tokens;
  };

  const ofPieces = async (pieces: readonly PromptPiece[], signal?: AbortSignal): Promise<readonly number[]> =>
    pieces.every((piece) => piece.type === 'tokens')
      ? pieces.flatMap(({ tokens }) => [...tokens])
      : await server.plain(pieces, signal);

  const ofSegments = async (segments: readonly PromptSegment[], signal?: AbortSignal): Promise<readonly number[]> => {
    const pieces: Promise<PromptPiece>[] = [];
    let plain = '';
    // Neighbouring texts are read as one, so that words are cut as they would be in the whole prompt.
    const flush = (): void => {
      for (const text of breakMarkup(plain, facts.markupInText)) pieces.push(Promise.resolve({ type: 'text', text }));
      plain = '';
    };
    for (const { text, special } of segments) {
      if (!special) {
        plain += text;
        continue;
      }
      flush();
      pieces.push(specialTokens(text).then((tokens) => ({ type: 'tokens', tokens })));
    }
    flush();
    return await ofPieces(await Promise.all(pieces), signal);
  };

  const inVocabulary = (tokens: readonly number[]): readonly number[] => {
    const { vocabularySize } = facts.model;
    const wrong = tokens.find((token) => !Number.isInteger(token) || token < 0 || token >= vocabularySize);
    if (wrong === undefined) return tokens;
    throw new ServiceError('invalid-request', `token ids must be from 0 to ${vocabularySize - 1}, got ${wrong}`);
  };

  const tokensOf = async (
    input: TokenInput,
    { begins, signal }: { readonly begins: boolean; readonly signal?: AbortSignal | undefined },
  ): Promise<readonly number[]> => {
    if (input.type === 'tokens') return inVocabulary(input.tokens);
    const tokens = await ofSegments(input.segments, signal);
    const { beginToken } = facts;
    return !begins || beginToken === undefined || tokens[0] === beginToken ? tokens : [beginToken, ...tokens];
  };

  return {
    ofInput: (input, signal) => tokensOf(input, { begins: true, signal }),
    ofSegments,
    ofPieces,
    toTell: (input) =>
      tokensOf(input, { begins: input.type === 'segments' && input.segments.some(({ special }) => special) }),
  };
}
