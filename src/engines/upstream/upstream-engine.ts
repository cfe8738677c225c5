import { ServiceError } from '../../core/error.ts';
import { systemIds } from '../../core/id.ts';
import type { Ids } from '../../core/id.ts';
import { TOKEN_ID_MAX, UPSTREAM_ASK_MS, UPSTREAM_CONTEXT_TOKENS } from '../../core/limits.ts';
import type { ServerKind } from '../../core/server-kind.ts';
import { present } from '../../lib/present.ts';
import type { EngineRequest, LoadedModel, RankingEngine, TextEngine } from '../engine.ts';
import { createAddress } from '../remote/address.ts';
import { batchesOf } from '../remote/batches-of.ts';
import { createConnection } from '../remote/connection.ts';
import type { CallOptions, ProxyEnvironment, RemoteTimeouts } from '../remote/connection.ts';
import { createAnswer } from './answer.ts';
import { capabilitiesOf } from './capabilities.ts';
import { discover } from './discovery.ts';
import type { Found } from './discovery.ts';
import { createRemoteEmbeddings } from './embeddings.ts';
import { probe } from './probe.ts';
import { createRemoteRanking } from './ranking.ts';
import { createRecount } from './recount.ts';
import { requestBody } from './request-body.ts';
import { SERVERS } from './servers.ts';
import { createTokenizer } from './tokenizer.ts';
import type { Tokenizer } from './tokenizer.ts';

export interface UpstreamOptions {
  /** Base address (http or https) of the server; `/chat/completions` is put after its path. */
  readonly url: string;
  /** The model's name there. */
  readonly model: string;
  /** Sent as a bearer token to this address and nowhere else. */
  readonly apiKey?: string | undefined;
  /** What the server is; absent: it is asked. */
  readonly kind?: ServerKind | undefined;
  /** Tokens of prompt and answer together, as the catalogue declares them; absent: the server is asked. */
  readonly contextTokens?: number | undefined;
  /** Fields of callers' bodies that the server knows, besides those that its kind is known for. */
  readonly forward?: readonly string[] | undefined;
  readonly timeouts?: Partial<RemoteTimeouts> | undefined;
  /** The variables that name proxies. Absent for servers of our own. */
  readonly proxies?: ProxyEnvironment | undefined;
  readonly ids?: Pick<Ids, 'toolCall'>;
}

/**
 * One server that speaks the chat-completions format, as an engine: it renders prompts and parses outputs itself.
 *
 * What it is and what its model can do is asked once, before the first answer; a server that is silent about it is taken
 * as declared. `start` resolves with the head of the answer. An answer counts as finished when every choice has said why
 * it ended; anything less is a rejection, whatever the upstream's status or end mark.
 * @throws ServiceError `upstream-failed` when the key cannot stand in a header.
 */
export function createUpstreamEngine(options: UpstreamOptions): TextEngine {
  const { model, kind, contextTokens, forward = [], ids = systemIds } = options;
  const connection = createConnection(options);
  const { faults } = connection;
  const { host } = createAddress(options.url);
  const declared: Found = { kind: kind ?? 'unknown', abilities: {} };
  let found = declared;
  let capabilities = capabilitiesOf(found, forward);
  let asking: Promise<Found> | undefined;

  /** @throws ServiceError when it cannot be asked now; the next call asks again. */
  const ask = (): Promise<Found> => {
    asking ??= discover({ connection, host, model, kind }).then(
      (told) => {
        found = told;
        capabilities = capabilitiesOf(told, forward);
        return told;
      },
      (thrown: unknown) => {
        asking = undefined;
        throw thrown;
      },
    );
    return asking;
  };
  /** A server that cannot say what it is now may still answer; where it does not, the call itself tells why. */
  const known = (): Promise<Found> => ask().catch(() => declared);

  const tokenizerOf = ({ kind: of }: Found): Tokenizer | undefined =>
    createTokenizer({ connection, server: SERVERS[of], model });
  const tokenizer = async (what: string): Promise<Tokenizer> => {
    const made = tokenizerOf(await known());
    if (made) return made;
    throw new ServiceError('unsupported', `The model of this request runs on a server that does not ${what}.`);
  };
  const countTexts = async (texts: readonly string[], call: CallOptions): Promise<number | undefined> => {
    const counter = tokenizerOf(found);
    if (!counter) return undefined;
    const segments = [{ text: texts.join('\n'), special: false }];
    return counter.count({ type: 'segments', segments }, call).catch(() => undefined);
  };

  const pooling = { connection, model, countTexts };
  const embeddings = createRemoteEmbeddings(pooling);
  const ranking = createRemoteRanking({ ...pooling, areLogits: () => SERVERS[found.kind].scoresAreLogits });
  const ranker: RankingEngine = {
    async rank(request, signal) {
      if (SERVERS[(await known()).kind].ranks) return ranking.rank(request, signal);
      throw new ServiceError('unsupported', 'The model of this request runs on a server that does not rank documents.');
    },
  };

  return {
    state: 'ready',
    get capabilities() {
      return capabilities;
    },
    embeddings: {
      dimensions: () => embeddings.dimensions(),
      embed: async (request, signal) => known().then(() => embeddings.embed(request, signal)),
    },
    ...(SERVERS[declared.kind].ranks ? { ranking: ranker } : {}),
    async start(request, signal) {
      // Nobody waits for what is declared; only about images there is more to know.
      const { kind: is, abilities } = kind === undefined || hasImages(request) ? await known() : found;
      const server = SERVERS[is];
      const body = JSON.stringify(requestBody(request, { model, server, abilities }));
      const call = await connection.post('chat/completions', body, { requestId: request.id, signal });
      const counter = tokenizerOf(found);
      const answer = createAnswer(request, {
        newCallId: () => ids.toolCall(),
        faults,
        hasUsagePerChoice: server.usagePerChoice,
        recount: counter && createRecount(counter, request, { requestId: request.id, signal }),
      });
      return { batches: await batchesOf(call, answer, connection) };
    },
    async model() {
      return modelOf(contextTokens === undefined ? await ask() : await known(), contextTokens);
    },
    probe: (signal) => probe(connection, SERVERS[found.kind], signal),
    async countTokens(input) {
      return (await tokenizer('count tokens')).count(input, { answerMs: UPSTREAM_ASK_MS });
    },
    async tokenize(input) {
      return (await tokenizer('tell its tokens')).tokens(input, { answerMs: UPSTREAM_ASK_MS });
    },
    close: async () => connection.close(),
  };
}

const hasImages = ({ input }: EngineRequest): boolean =>
  input.type === 'messages' && input.messages.some(({ content }) => content.some(({ type }) => type === 'image'));

/** What is declared goes before what is told. */
function modelOf(found: Found, contextTokens: number | undefined): LoadedModel {
  return {
    contextTokens: contextTokens ?? found.contextTokens ?? UPSTREAM_CONTEXT_TOKENS,
    // Otherwise which token ids there are is for the upstream to say.
    vocabularySize: found.vocabularySize ?? TOKEN_ID_MAX + 1,
    ...present({ chatTemplate: found.chatTemplate }),
    // Callers' texts are for the upstream to keep apart from them.
    specialTokens: [],
    bosToken: found.bosToken ?? '',
    eosToken: found.eosToken ?? '',
    abilities: found.abilities,
  };
}
