import type { IncomingMessage } from 'node:http';
import { text as readText } from 'node:stream/consumers';
import { ServiceError } from '../../core/error.ts';
import type { EngineEvent, TokenLogprob, Usage } from '../../core/event.ts';
import { LOGPROB_MIN } from '../../core/limits.ts';
import { present } from '../../lib/present.ts';
import { abortReason } from '../abort-reason.ts';
import { EngineGoneError } from '../engine-gone.ts';
import type {
  EmbeddingRequest,
  Embeddings,
  EngineRequest,
  EngineStart,
  RankingRequest,
  Rankings,
  TokenText,
} from '../engine.ts';
import { createSocketCalls } from '../socket-calls.ts';
import type { SocketAddress } from '../socket-calls.ts';
import type {
  Counts,
  FailureKind,
  GenerateCall,
  Line,
  Refusal,
  TokenInput,
  WireAlternative,
  WireLogprob,
} from './protocol.ts';

export interface LlamaClient {
  generate(request: EngineRequest, signal: AbortSignal): Promise<EngineStart>;
  countTokens(input: TokenInput): Promise<number>;
  tokenize(input: TokenInput): Promise<readonly TokenText[]>;
  embed(request: EmbeddingRequest, signal: AbortSignal): Promise<Embeddings>;
  rank(request: RankingRequest, signal: AbortSignal): Promise<Rankings>;
  /** Rejects when the process does not answer in time. */
  ping(timeoutMs: number): Promise<void>;
  close(): void;
}

export interface ClientOptions extends SocketAddress {
  /** Hears of every piece of output; /ready relies on it. */
  readonly onToken?: () => void;
}

export function createLlamaClient({ socket, token, onToken }: ClientOptions): LlamaClient {
  const calls = createSocketCalls({ socket, token });
  const call = (method: string, path: string, body: unknown, signal?: AbortSignal): Promise<IncomingMessage> =>
    calls.call(method, path, body === undefined ? undefined : JSON.stringify(body), signal);

  /** A whole answer, as its JSON. */
  const ask = async (path: string, body: unknown, signal?: AbortSignal): Promise<unknown> => {
    if (signal?.aborted) throw abortReason(signal);
    const response = await call('POST', path, body, signal);
    if (response.statusCode !== 200) throw await refusalOf(response);
    try {
      return JSON.parse(await readText(response));
    } catch (error) {
      throw signal?.aborted ? abortReason(signal) : new EngineGoneError(error);
    }
  };

  return {
    async generate(request, signal) {
      if (signal.aborted) throw abortReason(signal);
      const response = await call('POST', '/generate', toCall(request), signal);
      if (response.statusCode !== 200) throw await refusalOf(response);
      const lines = readLines(response, signal);
      const first = await lines.next();
      const started = first.done ? undefined : first.value[0];
      if (first.done || started?.type !== 'started') throw new EngineGoneError('the answer began without `started`');
      return {
        promptTokens: started.promptTokens,
        cachedTokens: started.cachedTokens,
        maxTokens: started.maxTokens,
        batches: toEvents(first.value.slice(1), lines, response, onToken),
      };
    },
    async countTokens(input) {
      return ((await ask('/count', { input })) as { tokens: number }).tokens;
    },
    async tokenize(input) {
      return ((await ask('/tokenize', { input })) as { tokens: readonly TokenText[] }).tokens;
    },
    embed: async (request, signal) => (await ask('/embed', request, signal)) as Embeddings,
    rank: async (request, signal) => (await ask('/rank', request, signal)) as Rankings,
    async ping(timeoutMs) {
      const response = await call('GET', '/health', undefined, AbortSignal.timeout(timeoutMs));
      await readText(response);
    },
    close: () => calls.close(),
  };
}

function toCall({ input, sampling, ...rest }: EngineRequest): GenerateCall {
  if (input.type === 'messages') throw new ServiceError('internal', 'a prompt engine was given messages');
  const { logitBias, ...others } = sampling;
  return { ...rest, input, sampling: { ...others, ...(logitBias ? { logitBias: [...logitBias] } : {}) } };
}

/** Batches of lines: what one read of the socket brought. A stream without its last line is a failure. */
async function* readLines(response: IncomingMessage, signal: AbortSignal): AsyncGenerator<readonly Line[], void> {
  let rest = '';
  let isFinished = false;
  response.setEncoding('utf8');
  try {
    for await (const chunk of response) {
      const texts = (rest + String(chunk)).split('\n');
      rest = texts.pop() ?? '';
      if (texts.length === 0) continue;
      const lines = texts.map((line) => JSON.parse(line) as Line);
      isFinished = lines.at(-1)?.type === 'finished';
      yield lines;
    }
  } catch (error) {
    if (signal.aborted) throw abortReason(signal);
    if (error instanceof ServiceError) throw error;
    throw new EngineGoneError(error);
  }
  if (!isFinished)
    throw signal.aborted ? abortReason(signal) : new EngineGoneError('the answer ended without `finished`');
}

async function* toEvents(
  first: readonly Line[],
  lines: AsyncGenerator<readonly Line[], void>,
  response: IncomingMessage,
  onToken: (() => void) | undefined,
): AsyncGenerator<readonly EngineEvent[], void> {
  try {
    if (first.length > 0) yield first.map(toEvent);
    for await (const batch of lines) {
      onToken?.();
      yield batch.map(toEvent);
    }
  } finally {
    // Leaving early closes the connection, which is how the engine hears of it.
    if (!response.complete) response.destroy();
  }
}

function toEvent(line: Line): EngineEvent {
  switch (line.type) {
    case 'token':
      return {
        type: 'text',
        choice: line.choice,
        text: line.text,
        tokens: line.tokens,
        phase: line.phase,
        ...(line.logprobs ? { logprobs: line.logprobs.map(toLogprob) } : {}),
      };
    case 'choice-finished':
      return {
        type: 'choice-end',
        choice: line.choice,
        reason: line.reason,
        ...(line.stop === undefined ? {} : { stop: line.stop }),
      };
    case 'finished':
      return { type: 'end', usage: toUsage(line.counts) };
    case 'failed':
      if (line.kind !== 'internal') throw new ServiceError(KINDS[line.kind], line.message, { param: line.param });
      throw new ServiceError('engine-failed', 'The engine failed on this request.', { cause: new Error(line.message) });
    case 'started':
      throw new ServiceError('engine-failed', 'The engine failed on this request.', { cause: 'started twice' });
  }
}

const toUsage = (counts: Counts): Usage => ({
  promptTokens: counts.promptTokens,
  cachedTokens: counts.cachedTokens,
  completionTokens: counts.completionTokens,
  ...present({
    cacheCreationTokens: counts.cacheCreationTokens,
    usesExplicitCache: counts.usesExplicitCache,
  }),
  ...(counts.thoughtTokens > 0 ? { reasoningTokens: counts.thoughtTokens } : {}),
});

const decoder = new TextDecoder();

const toAlternative = ({ bytes, logprob }: WireAlternative) => ({
  token: decoder.decode(Uint8Array.from(bytes)),
  bytes,
  logprob: logprob === null || logprob < LOGPROB_MIN ? undefined : logprob,
});

const toLogprob = (token: WireLogprob): TokenLogprob => ({
  ...toAlternative(token),
  top: token.top.map(toAlternative),
});

const KINDS: Record<FailureKind, ConstructorParameters<typeof ServiceError>[0]> = {
  'too-long': 'context-exceeded',
  invalid: 'invalid-request',
  'queue-full': 'overloaded',
  'queue-wait': 'overloaded',
  'key-share': 'rate-limited',
  'slow-reader': 'timeout',
  unsupported: 'unsupported',
  draining: 'overloaded',
  internal: 'engine-failed',
};

async function refusalOf(response: IncomingMessage): Promise<ServiceError> {
  const refusal = JSON.parse(await readText(response)) as Refusal;
  return new ServiceError(
    KINDS[refusal.kind],
    refusal.kind === 'internal' ? 'The engine failed on this request.' : `${refusal.message}`,
    {
      retryAfterSeconds: refusal.retryAfterSeconds,
      param: refusal.param,
      excess: refusal.excess,
      cause: refusal,
    },
  );
}
