import type { TokenLogprob } from '../../core/event.ts';
import type { Sampling } from '../../core/request.ts';
import type { EngineCapabilities, LoadedModel } from '../engine.ts';
import type { Connection } from '../remote/connection.ts';
import type { Answer } from '../remote/event-stream.ts';
import type { Faults } from '../remote/faults.ts';
import type { TokenServer } from './token-server.ts';

/** Tokens as a server tells them: one at a time, or those of one event together. */
export interface HeardTokens {
  readonly type: 'tokens';
  /** In order. Absent: the server did not tell them all. */
  readonly ids?: readonly number[];
  /** Of the last one, where it is known; else −1. */
  readonly lastId: number;
  readonly count: number;
  readonly text: string;
  /** Of those tokens whose text is known by itself; else one for all, or none. */
  readonly logprobs: readonly TokenLogprob[];
}

/** What a server says of one call. */
export type Heard =
  | HeardTokens
  /** `end`: the model's own, or a token that was to end it. `length`: the tokens asked for, or the context's end. */
  | { readonly type: 'ended'; readonly reason: 'end' | 'length'; readonly cachedTokens?: number };

/** One phase of one choice. */
export interface PhaseCall {
  readonly prompt: readonly number[];
  /** At least 1. */
  readonly tokensMax: number;
  readonly sampling: Sampling;
  readonly gbnf?: string;
  readonly logprobs?: { readonly top: number };
  /** Each ends the answer like the model's own end. */
  readonly endTokens: readonly number[];
  /** Special tokens that are told as text. */
  readonly markers: ReadonlyMap<number, string>;
}

/** What a server tells of itself and of its model. */
export interface ServerFacts {
  readonly model: LoadedModel;
  /** The token that begins a prompt, where the model wants one. */
  readonly beginToken?: number;
  /** What the tokenizer makes one token of, wherever it stands in a caller's text: there it is cut. */
  readonly markupInText: readonly string[];
  /** Answers side by side, where the server tells. */
  readonly slots?: number;
  /** Of a server whose events may hold all of the answer so far: they hold what is new. */
  readonly tellsPieces?: boolean;
}

export interface AnswerNeeds {
  readonly faults: Faults;
  readonly facts: ServerFacts;
  /** The server has begun with the call, where it says so before the first token. */
  readonly onTaken: (taken: Taken) => void;
}

export interface Taken {
  /** Tokens of the prompt that are not computed again. */
  readonly cachedTokens?: number;
}

export interface DiscoveryNeeds {
  readonly connection: Connection;
  readonly tokens: TokenServer;
  /** The model's name there. */
  readonly model: string;
  /** As the catalogue declares them. */
  readonly contextTokens: number | undefined;
  readonly chatTemplate: string | undefined;
}

/** The words of one kind of server. */
export interface Dialect {
  readonly capabilities: Pick<EngineCapabilities, 'logprobs' | 'grammar' | 'unheardSampling'>;
  /** Where a call goes, as for `Address.of`. */
  readonly path: string;
  /** It says when it has begun; until then a call may still be refused. Otherwise the head of its answer says so. */
  readonly tellsTaken: boolean;
  tokens(connection: Connection, model: string): TokenServer;
  body(call: PhaseCall, model: string): object;
  answer(call: PhaseCall, needs: AnswerNeeds): Answer<Heard>;
  /** @throws ServiceError where the server does not answer, or as nobody expects. */
  discover(needs: DiscoveryNeeds): Promise<ServerFacts>;
}
