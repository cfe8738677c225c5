import { LRUCache } from 'lru-cache';
import { PROMPT_PIECE_CACHE_CHARS_MAX, PROMPT_PIECE_CACHE_ENTRIES_MAX } from '../limits.ts';
import { ServiceError } from '../../core/error.ts';
import type { PromptSegment } from '../../core/prompt.ts';
import { breakMarkup } from '../break-markup.ts';
import type { EngineInput } from '../engine.ts';
import type { CompletionServerMetadata } from './completion-dialect.ts';
import type { PromptPiece, ServerTokenizer } from './server-tokenizer.ts';
import { findTokenProblem } from '../find-request-problem.ts';

type TokenInput = Exclude<EngineInput, { readonly type: 'messages' }>;

/** Tokenizes prompts. Only `special` segments may become special tokens, whatever a caller's text contains. */
export interface PromptTokenizer {
  /**
   * Tokenizes a whole prompt, BOS token included.
   * @throws ServiceError `invalid-request` for a token id outside the vocabulary; any error of the server.
   */
  tokenizeInput(input: TokenInput, signal?: AbortSignal): Promise<readonly number[]>;
  /** Tokenizes text that follows other tokens. */
  tokenizeSegments(segments: readonly PromptSegment[], signal?: AbortSignal): Promise<readonly number[]>;
  /** Tokenizes pieces, some of which may already be tokens. */
  tokenizePieces(pieces: readonly PromptPiece[], signal?: AbortSignal): Promise<readonly number[]>;
  /** Tokenizes input to report or count it: text without a special segment is no prompt and gets no BOS token. */
  tokenizeForCount(input: TokenInput): Promise<readonly number[]>;
}

export function createPromptTokenizer(server: ServerTokenizer, metadata: CompletionServerMetadata): PromptTokenizer {
  const tokenCache = new LRUCache<string, readonly number[]>({
    max: PROMPT_PIECE_CACHE_ENTRIES_MAX,
    maxSize: PROMPT_PIECE_CACHE_CHARS_MAX,
  });

  /** Cached: templates have few special texts, and each prompt contains all of them. */
  const tokenizeSpecial = async (text: string): Promise<readonly number[]> => {
    const cached = tokenCache.get(text);
    if (cached) return cached;
    const tokens = await server.tokenizeSpecial(text);
    tokenCache.set(text, tokens, { size: Math.max(1, text.length) });
    return tokens;
  };

  const tokenizePieces = async (pieces: readonly PromptPiece[], signal?: AbortSignal): Promise<readonly number[]> =>
    pieces.every((piece) => piece.type === 'tokens')
      ? pieces.flatMap(({ tokens }) => [...tokens])
      : await server.tokenizePieces(pieces, { signal });

  const tokenizeSegments = async (
    segments: readonly PromptSegment[],
    signal?: AbortSignal,
  ): Promise<readonly number[]> => {
    const pieces: Promise<PromptPiece>[] = [];
    let plain = '';
    // Adjacent texts are tokenized together, so that words are split as in the whole prompt.
    const flush = (): void => {
      for (const text of breakMarkup(plain, metadata.markupInText))
        pieces.push(Promise.resolve({ type: 'text', text }));
      plain = '';
    };
    for (const { text, special } of segments) {
      if (!special) {
        plain += text;
        continue;
      }
      flush();
      pieces.push(tokenizeSpecial(text).then((tokens) => ({ type: 'tokens', tokens })));
    }
    flush();
    return await tokenizePieces(await Promise.all(pieces), signal);
  };

  const checkVocabulary = (tokens: readonly number[]): readonly number[] => {
    const { vocabularySize } = metadata.model;
    const problem = findTokenProblem(tokens, vocabularySize);
    if (problem === undefined) return tokens;
    throw new ServiceError('invalid-request', problem, { param: 'prompt' });
  };

  const tokenize = async (
    input: TokenInput,
    { addsBos, signal }: { readonly addsBos: boolean; readonly signal?: AbortSignal | undefined },
  ): Promise<readonly number[]> => {
    if (input.type === 'tokens') return checkVocabulary(input.tokens);
    const tokens = await tokenizeSegments(input.segments, signal);
    const { bosTokenId } = metadata;
    return !addsBos || bosTokenId === undefined || tokens[0] === bosTokenId ? tokens : [bosTokenId, ...tokens];
  };

  return {
    tokenizeInput: (input, signal) => tokenize(input, { addsBos: true, signal }),
    tokenizeSegments,
    tokenizePieces,
    tokenizeForCount: (input) =>
      tokenize(input, { addsBos: input.type === 'segments' && input.segments.some(({ special }) => special) }),
  };
}
