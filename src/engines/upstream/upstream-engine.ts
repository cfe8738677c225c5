import { ServiceError } from '../../core/error.ts';
import { systemIdGenerator, type IdGenerator } from '../../core/id.ts';
import { TOKEN_ID_MAX } from '../../core/limits.ts';
import { UPSTREAM_QUERY_RETRY_MS, UPSTREAM_QUERY_MS, UPSTREAM_CONTEXT_TOKENS } from '../limits.ts';
import type { ServerKind } from '../../core/server-kind.ts';
import { encodeJson } from '../../lib/encode-json.ts';
import { systemClock, type Clock } from '../../lib/clock.ts';
import { omitNullish } from '../../lib/omit-nullish.ts';
import type { LoadedModel, RankingEngine, TextEngine } from '../engine.ts';
import { createServerAddress } from '../remote/server-address.ts';
import { countImages } from '../engine-input.ts';
import { getAbortError } from '../get-abort-error.ts';
import { raceWithAbort } from '../../lib/race-with-abort.ts';
import { openEventBatches } from '../remote/open-event-batches.ts';
import {
  createUpstreamClient,
  type UpstreamCallOptions,
  type ProxyEnvironment,
  type UpstreamTimeouts,
} from '../remote/upstream-client.ts';
import { createChatResponseParser } from './chat-response-parser.ts';
import { getUpstreamCapabilities } from './capabilities.ts';
import { discoverUpstream, type UpstreamMetadata } from './discovery.ts';
import { createRemoteEmbeddings } from './remote-embeddings.ts';
import { probeUpstream } from './probe-upstream.ts';
import { createRemoteRanking } from './remote-ranking.ts';
import { createUsageRecount } from './usage-recount.ts';
import { encodeRequestBody } from './request-body.ts';
import { SERVER_PROFILES } from './server-profiles.ts';
import { createUpstreamTokenizer, type UpstreamTokenizer } from './upstream-tokenizer.ts';

export interface UpstreamEngineOptions {
  /** Base address (http or https) of the server; `/chat/completions` is appended to its path. */
  readonly url: string;
  /** Model name at the server. */
  readonly model: string;
  /** Bearer token, sent only to this address. */
  readonly apiKey?: string | undefined;
  /** Kind of the server; absent: discovered. */
  readonly kind?: ServerKind | undefined;
  /** Tokens of prompt and answer together, as the catalogue declares them; absent: discovered. */
  readonly contextTokens?: number | undefined;
  /** Request fields to forward, besides those that the server's kind supports. */
  readonly forward?: readonly string[] | undefined;
  readonly timeouts?: Partial<UpstreamTimeouts> | undefined;
  /** Environment variables that name proxies. Absent for servers that Parley itself runs. */
  readonly proxies?: ProxyEnvironment | undefined;
  readonly ids?: Pick<IdGenerator, 'createToolCallId'>;
  readonly clock?: Pick<Clock, 'monotonic'>;
}

/**
 * Creates an engine for one server with a chat-completions API, which renders prompts and parses outputs itself.
 *
 * The server's metadata is discovered once, before the first answer. If the server reports nothing or discovery fails,
 * the declared values are used; a failed discovery is repeated later without delaying requests. `start` resolves with the
 * head of the response. An answer is finished when every choice has a finish reason; anything less is a rejection,
 * whatever the upstream's status or end mark.
 * @throws ServiceError `upstream-failed` when the key contains characters that a header cannot hold.
 */
export function createUpstreamEngine(options: UpstreamEngineOptions): TextEngine {
  const { model, kind, contextTokens, forward = [], ids = systemIdGenerator, clock = systemClock } = options;
  const client = createUpstreamClient(options);
  const { errors } = client;
  const address = createServerAddress(options.url);
  const declaredMetadata: UpstreamMetadata = { kind: kind ?? 'unknown', abilities: {} };
  let metadata = declaredMetadata;
  let capabilities = getUpstreamCapabilities(metadata, forward);
  let pendingDiscovery: Promise<UpstreamMetadata> | undefined;

  let isDiscovered = false;
  /** Earliest time of the next discovery, in monotonic milliseconds. */
  let rediscoverAt = 0;

  const runDiscovery = async (): Promise<UpstreamMetadata> => {
    try {
      const latest = await discoverUpstream({ client, address, model, kind });
      metadata = latest.failure ? mergeMetadata(metadata, latest) : latest;
      capabilities = getUpstreamCapabilities(metadata, forward);
      isDiscovered = true;
      return metadata;
    } finally {
      rediscoverAt = clock.monotonic() + UPSTREAM_QUERY_RETRY_MS;
      pendingDiscovery = undefined;
    }
  };
  /** @throws ServiceError when nothing listens at the address; the next call tries again. */
  const getMetadata = async (): Promise<UpstreamMetadata> => {
    if (!isDiscovered) return await (pendingDiscovery ??= runDiscovery());
    if (metadata.failure && !pendingDiscovery && clock.monotonic() >= rediscoverAt) {
      pendingDiscovery = runDiscovery();
      // The metadata discovered so far stays valid.
      pendingDiscovery.catch(() => undefined);
    }
    return metadata;
  };
  /** Never rejects: a server whose discovery fails may still answer, and otherwise the call itself reports the failure. */
  const getMetadataOrDeclared = (): Promise<UpstreamMetadata> =>
    getMetadata().catch((thrown: unknown) => ({ ...declaredMetadata, failure: ServiceError.from(thrown) }));

  const createTokenizer = ({ kind: serverKind }: UpstreamMetadata): UpstreamTokenizer | undefined =>
    createUpstreamTokenizer({ client, server: SERVER_PROFILES[serverKind], model });
  const requireTokenizer = async (action: string): Promise<UpstreamTokenizer> => {
    const created = createTokenizer(await getMetadataOrDeclared());
    if (created) return created;
    throw new ServiceError('unsupported', `The model of this request runs on a server that does not ${action}.`);
  };
  const countTextTokens = async (texts: readonly string[], call: UpstreamCallOptions): Promise<number | undefined> => {
    const textTokenizer = createTokenizer(metadata);
    if (!textTokenizer) return undefined;
    const segments = [{ text: texts.join('\n'), special: false }];
    return textTokenizer.countTokens({ type: 'segments', segments }, call).catch(() => undefined);
  };

  const poolingDeps = { client, model, countTexts: countTextTokens };
  const embeddings = createRemoteEmbeddings(poolingDeps);
  const ranking = createRemoteRanking({
    ...poolingDeps,
    areLogits: () => SERVER_PROFILES[metadata.kind].hasLogitScores,
  });
  const rankingAfterDiscovery: RankingEngine = {
    async rank(request, signal) {
      if (SERVER_PROFILES[(await raceWithAbort(getMetadataOrDeclared(), signal, getAbortError)).kind].canRank)
        return ranking.rank(request, signal);
      throw new ServiceError('unsupported', 'The model of this request runs on a server that does not rank documents.');
    },
  };

  return {
    state: 'ready',
    get capabilities() {
      return capabilities;
    },
    embeddings: {
      getDimensions: () => embeddings.getDimensions(),
      async embed(request, signal) {
        await raceWithAbort(getMetadataOrDeclared(), signal, getAbortError);
        return embeddings.embed(request, signal);
      },
    },
    ...(SERVER_PROFILES[declaredMetadata.kind].canRank ? { ranking: rankingAfterDiscovery } : {}),
    async start(request, signal) {
      // A declared kind needs no discovery, except to learn whether the model reads images.
      const hasImages = countImages(request.input) > 0;
      const needsDiscovery = kind === undefined || hasImages;
      const { kind: serverKind, abilities } = needsDiscovery
        ? await raceWithAbort(getMetadataOrDeclared(), signal, getAbortError)
        : metadata;
      const server = SERVER_PROFILES[serverKind];
      const body = encodeRequestBody(request, { model, server, abilities });
      const json = hasImages ? await encodeJson(body) : JSON.stringify(body);
      const call = await client.post('chat/completions', json, { requestId: request.id, signal });
      const requestTokenizer = createTokenizer(metadata);
      const responseParser = createChatResponseParser(request, {
        newCallId: () => ids.createToolCallId(),
        errors,
        hasUsagePerChoice: server.hasUsagePerChoice,
        countMissing:
          requestTokenizer && createUsageRecount(requestTokenizer, request, { requestId: request.id, signal }),
      });
      return { batches: await openEventBatches(call, responseParser, client) };
    },
    async loadModel() {
      return toLoadedModel(
        contextTokens === undefined ? await getMetadata() : await getMetadataOrDeclared(),
        contextTokens,
      );
    },
    probe: (signal) => probeUpstream(client, SERVER_PROFILES[metadata.kind], signal),
    async countTokens(input) {
      return (await requireTokenizer('count tokens')).countTokens(input, { responseMs: UPSTREAM_QUERY_MS });
    },
    async tokenize(input) {
      return (await requireTokenizer('report its tokens')).tokenize(input, { responseMs: UPSTREAM_QUERY_MS });
    },
    close: async () => client.close(),
  };
}

/** Merges metadata: a failed discovery keeps earlier values. */
const mergeMetadata = (before: UpstreamMetadata, latest: UpstreamMetadata): UpstreamMetadata => ({
  ...before,
  ...latest,
  kind: latest.kind === 'unknown' ? before.kind : latest.kind,
  abilities: { ...before.abilities, ...latest.abilities },
});

/** The declared context length overrides the discovered one. */
function toLoadedModel(metadata: UpstreamMetadata, contextTokens: number | undefined): LoadedModel {
  return {
    contextTokens: contextTokens ?? metadata.contextTokens ?? UPSTREAM_CONTEXT_TOKENS,
    // Unknown: the upstream itself checks token ids.
    vocabularySize: metadata.vocabularySize ?? TOKEN_ID_MAX + 1,
    ...omitNullish({ chatTemplate: metadata.chatTemplate }),
    // The upstream itself keeps callers' texts from becoming special tokens.
    specialTokens: [],
    bosToken: metadata.bosToken ?? '',
    eosToken: metadata.eosToken ?? '',
    abilities: metadata.abilities,
    ...(metadata.failure ? { unverified: { reason: metadata.failure } } : {}),
  };
}
