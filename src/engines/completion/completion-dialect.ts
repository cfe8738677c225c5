import type { TokenLogprob } from '../../core/event.ts';
import type { Sampling } from '../../core/request.ts';
import type { EngineCapabilities, LoadedModel } from '../engine.ts';
import type { UpstreamClient } from '../remote/upstream-client.ts';
import type { ResponseParser } from '../remote/response-parser.ts';
import type { UpstreamErrorFactory } from '../remote/upstream-error-factory.ts';
import type { ServerTokenizer } from './server-tokenizer.ts';

/** Tokens that a server reports, singly or several in one event. */
export interface TokensEvent {
  readonly type: 'tokens';
  /** In order. Absent if the server did not report all of them. */
  readonly ids?: readonly number[];
  /** Id of the last token if known, else −1. */
  readonly lastId: number;
  readonly count: number;
  readonly text: string;
  /** Log probabilities of the tokens whose own text is known; else a single one for all, or none. */
  readonly logprobs: readonly TokenLogprob[];
}

/** Event of one call. */
export type CompletionEvent =
  /** All tokens of the prompt, if their log probabilities are requested; the first event then. */
  | { readonly type: 'prompt'; readonly logprobs: readonly TokenLogprob[] }
  | TokensEvent
  /** Tokens of the prompt that the server has cached, if it reports them before the end; at most once. */
  | { readonly type: 'cached'; readonly tokens: number }
  /** `end`: the model's end token or a requested one. `length`: the requested number of tokens, or the end of the context. */
  | {
      readonly type: 'ended';
      readonly reason: 'end' | 'length';
      /** The same number, if the server reports it only at the end. */
      readonly cachedTokens?: number;
      /** Log probability of the end token, if reported. */
      readonly endLogprob?: TokenLogprob;
    };

/** Request for one phase of one choice. */
export interface PhaseCall {
  readonly prompt: readonly number[];
  /** 0: only the prompt is evaluated; a token that the server generates nevertheless is discarded. */
  readonly tokensMax: number;
  readonly sampling: Sampling;
  readonly gbnf?: string;
  readonly logprobs?: { readonly top: number };
  /** Only for dialects with the capability of this name. */
  readonly promptLogprobs?: { readonly top: number };
  /** Token ids that end the answer like the model's end token. */
  readonly endTokens: readonly number[];
  /** Special tokens that are reported as text. */
  readonly markers: ReadonlyMap<number, string>;
}

/** Metadata that a server reports about itself and its model. */
export interface CompletionServerMetadata {
  readonly model: LoadedModel;
  /** Token that begins a prompt (BOS), if the model uses one. */
  readonly bosTokenId?: number;
  /** Texts that the tokenizer makes special tokens of even in plain text: callers' texts are cut inside them. */
  readonly markupInText: readonly string[];
  /** Number of answers that the server generates in parallel, if reported. */
  readonly slots?: number;
  /** True if events hold only new text; false if they hold the whole answer so far. */
  readonly sendsDeltas?: boolean;
}

export interface CompletionParserDeps {
  readonly errors: UpstreamErrorFactory;
  readonly metadata: CompletionServerMetadata;
  /** Called when the server has accepted the call, if it reports that before the first token. */
  readonly onAccepted: (taken: CallAcceptance) => void;
}

export interface CallAcceptance {
  /** Number of prompt tokens that the server has cached. */
  readonly cachedTokens?: number;
}

export interface CompletionDiscoveryDeps {
  readonly client: UpstreamClient;
  readonly tokenizer: ServerTokenizer;
  /** Model name at the server. */
  readonly model: string;
  /** Values that the catalogue declares. */
  readonly contextTokens: number | undefined;
  readonly chatTemplate: string | undefined;
}

/** Request and response formats of one kind of server. */
export interface CompletionDialect {
  readonly capabilities: Pick<EngineCapabilities, 'logprobs' | 'promptLogprobs' | 'grammar' | 'ignoredSampling'>;
  /** Whether a repetition penalty also counts the tokens of the prompt, so that a further call continues with the same. */
  readonly penalizesPrompt: boolean;
  /** Path of the route that generates, as for `ServerAddress.resolveUrl`. */
  readonly path: string;
  /** The server reports the acceptance of a call, which it may refuse until then. Otherwise the response head does so. */
  readonly reportsAcceptance: boolean;
  createTokenizer(client: UpstreamClient, model: string): ServerTokenizer;
  /**
   * Returns the text of each list of tokens. Only for servers that report the log probabilities of a prompt, but decode
   * each of its tokens by itself.
   */
  readonly decodeTokenLists?: (
    client: UpstreamClient,
    lists: readonly (readonly number[])[],
    signal: AbortSignal,
  ) => Promise<readonly string[]>;
  encodeBody(call: PhaseCall, model: string): object;
  createParser(call: PhaseCall, deps: CompletionParserDeps): ResponseParser<CompletionEvent>;
  /** @throws ServiceError when the server does not answer, or answers in an unknown format. */
  discover(deps: CompletionDiscoveryDeps): Promise<CompletionServerMetadata>;
}
