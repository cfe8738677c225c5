import type { ModelInterface } from '../catalogue/model.ts';
import { REGION_IDS, type RegionId } from '../core/region.ts';
import type { Endpoint, ProtocolFamily } from './endpoint.ts';

export interface Route {
  readonly method: Endpoint['method'];
  /** Route pattern with `:name` for path parameters. */
  readonly path: string;
}

/**
 * One documented interface (a group of API routes) of Alibaba Cloud Model Studio, whether this version of Parley serves
 * it or not.
 */
export interface PublishedInterface {
  readonly name: string;
  /** Protocol of the routes: OpenAI-compatible, Anthropic Messages, or DashScope's own (`native`). */
  readonly family: ProtocolFamily;
  readonly regions: readonly RegionId[];
  readonly routes: readonly Route[];
  /**
   * Set for an interface that shares its path with another one: requests for models that offer this model interface
   * (a kind of use, such as translation) belong to it. Its region rule is checked once the model is known.
   */
  readonly selectedByModelInterface?: ModelInterface;
  /** The interface is useless without a model that offers this model interface. */
  readonly requiredModelInterface?: ModelInterface;
  /** The interface answers without a model that offers this model interface, but is of no use then. */
  readonly usefulWithModelInterface?: ModelInterface;
  /** The interface answers from what a search finds. */
  readonly needsSearch?: true;
  /** Why the interface is off although its paths return empty lists or errors. */
  readonly disabledReason?: string;
}

const BEIJING: readonly RegionId[] = ['cn-beijing'];
const BEIJING_SINGAPORE: readonly RegionId[] = ['cn-beijing', 'ap-southeast-1'];
const WITHOUT_HONG_KONG: readonly RegionId[] = ['cn-beijing', 'ap-southeast-1', 'us-east-1', 'eu-central-1'];

const CHAT = '/compatible-mode/v1/chat/completions';
const GENERATION = '/api/v1/services/aigc/text-generation/generation';
const MESSAGES = '/apps/anthropic/v1/messages';
const RERANKS = '/compatible-api/v1/reranks';
/** The deprecated path of the responses interface. */
export const DEPRECATED_RESPONSES_PATH = '/api/v2/apps/protocols/compatible-mode/v1/responses';

const route =
  (method: Route['method']) =>
  (path: string): Route => ({ method, path });
const get = route('GET');
const post = route('POST');
const put = route('PUT');
const remove = route('DELETE');

/**
 * All documented interfaces with their regions and the paths that clients call. If the documentation does not state the
 * regions, they follow docs/wire/choices.md#regions-keys-workspaces.
 */
export const INTERFACES = {
  chat: { name: 'Chat completions', family: 'compatible', regions: REGION_IDS, routes: [post(CHAT)] },
  messages: { name: 'Messages', family: 'messages', regions: WITHOUT_HONG_KONG, routes: [post(MESSAGES)] },
  countTokens: {
    name: 'Messages: count tokens',
    family: 'messages',
    regions: WITHOUT_HONG_KONG,
    routes: [post(`${MESSAGES}/count_tokens`)],
  },
  messagesModels: {
    name: 'Messages: models',
    family: 'messages',
    regions: WITHOUT_HONG_KONG,
    routes: [get('/apps/anthropic/v1/models'), get('/apps/anthropic/v1/models/:id')],
  },
  translation: {
    name: 'Translation',
    family: 'compatible',
    regions: ['cn-beijing', 'ap-southeast-1', 'us-east-1'],
    routes: [post(CHAT)],
    selectedByModelInterface: 'translation',
    requiredModelInterface: 'translation',
  },
  generation: {
    name: 'Native generation',
    family: 'native',
    regions: REGION_IDS,
    routes: [post(GENERATION), post('/api/v1/services/aigc/multimodal-generation/generation')],
  },
  research: {
    name: 'Deep research',
    family: 'native',
    regions: BEIJING,
    routes: [post(GENERATION)],
    selectedByModelInterface: 'research',
    requiredModelInterface: 'research',
    needsSearch: true,
  },
  completions: {
    name: 'Text completion',
    family: 'compatible',
    regions: BEIJING,
    routes: [post('/compatible-mode/v1/completions')],
  },
  responses: {
    name: 'Responses',
    family: 'compatible',
    regions: BEIJING_SINGAPORE,
    routes: [
      post('/compatible-mode/v1/responses'),
      post('/compatible-mode/v1/responses/input_tokens'),
      get('/compatible-mode/v1/responses/:id'),
      remove('/compatible-mode/v1/responses/:id'),
      get('/compatible-mode/v1/responses/:id/input_items'),
      post('/compatible-mode/v1/responses/:id/cancel'),
      post('/compatible-mode/v1/responses/compact'),
      post(DEPRECATED_RESPONSES_PATH),
      post(`${DEPRECATED_RESPONSES_PATH}/input_tokens`),
      get(`${DEPRECATED_RESPONSES_PATH}/:id`),
      remove(`${DEPRECATED_RESPONSES_PATH}/:id`),
      get(`${DEPRECATED_RESPONSES_PATH}/:id/input_items`),
      post(`${DEPRECATED_RESPONSES_PATH}/:id/cancel`),
      post(`${DEPRECATED_RESPONSES_PATH}/compact`),
    ],
  },
  conversations: {
    name: 'Conversations',
    family: 'compatible',
    regions: BEIJING_SINGAPORE,
    routes: [
      post('/compatible-mode/v1/conversations'),
      get('/compatible-mode/v1/conversations/:id'),
      post('/compatible-mode/v1/conversations/:id'),
      remove('/compatible-mode/v1/conversations/:id'),
      get('/compatible-mode/v1/conversations/:id/items'),
      post('/compatible-mode/v1/conversations/:id/items'),
      get('/compatible-mode/v1/conversations/:id/items/:item'),
      remove('/compatible-mode/v1/conversations/:id/items/:item'),
    ],
  },
  customization: {
    name: 'Custom vocabulary',
    family: 'native',
    regions: BEIJING_SINGAPORE,
    routes: [post('/api/v1/services/audio/asr/customization')],
    usefulWithModelInterface: 'speech',
  },
  transcription: {
    name: 'Speech recognition',
    family: 'native',
    regions: BEIJING_SINGAPORE,
    routes: [post('/api/v1/services/audio/asr/transcription')],
    requiredModelInterface: 'speech',
  },
  compatibleTranscription: {
    name: 'Speech recognition (compatible)',
    family: 'compatible',
    regions: BEIJING_SINGAPORE,
    routes: [post('/compatible-mode/v1/audio/transcriptions')],
    requiredModelInterface: 'speech',
  },
  compatibleSpeechTranslation: {
    name: 'Speech translation (compatible)',
    family: 'compatible',
    regions: BEIJING_SINGAPORE,
    routes: [post('/compatible-mode/v1/audio/translations')],
    requiredModelInterface: 'speech',
  },
  realtime: {
    name: 'Realtime recognition',
    family: 'native',
    regions: BEIJING_SINGAPORE,
    routes: [get('/api-ws/v1/inference')],
    requiredModelInterface: 'speech',
  },
  deployments: {
    name: 'Deployments',
    family: 'native',
    regions: REGION_IDS,
    routes: [
      get('/api/v1/deployments'),
      post('/api/v1/deployments'),
      get('/api/v1/deployments/models'),
      get('/api/v1/deployments/:id'),
      put('/api/v1/deployments/:id'),
      remove('/api/v1/deployments/:id'),
      put('/api/v1/deployments/:id/scale'),
      put('/api/v1/deployments/:id/update'),
      get('/api/v1/deployments/:id/stream'),
    ],
  },
  deploymentTerms: {
    name: 'Terms of deployments',
    family: 'native',
    regions: REGION_IDS,
    routes: [put('/api/v1/deployments/:id/renew'), put('/api/v1/deployments/:id/updateOverflowStrategy')],
    disabledReason: 'capacity is not bought for a period of time here, and requests above a reservation are refused',
  },
  files: {
    name: 'Files',
    family: 'native',
    regions: REGION_IDS,
    routes: [get('/api/v1/files'), post('/api/v1/files'), get('/api/v1/files/:id'), remove('/api/v1/files/:id')],
  },
  uploads: {
    name: 'Upload policies',
    family: 'native',
    regions: REGION_IDS,
    routes: [get('/api/v1/uploads')],
    disabledReason: 'this service has no bucket for direct uploads; use POST /api/v1/files',
  },
  fineTunes: {
    name: 'Fine-tunes',
    family: 'native',
    regions: REGION_IDS,
    routes: [
      get('/api/v1/fine-tunes'),
      post('/api/v1/fine-tunes'),
      get('/api/v1/fine-tunes/:id'),
      remove('/api/v1/fine-tunes/:id'),
      post('/api/v1/fine-tunes/:id/cancel'),
      get('/api/v1/fine-tunes/:id/logs'),
      get('/api/v1/fine-tunes/:id/stream'),
      get('/api/v1/fine-tunes/:id/checkpoints'),
      get('/api/v1/fine-tunes/:id/export/:checkpoint'),
      get('/api/v1/fine-tunes/outputs/:output'),
      remove('/api/v1/fine-tunes/outputs/:output'),
    ],
    disabledReason: 'this service does not train models',
  },
  encryption: {
    name: 'Request encryption',
    family: 'native',
    regions: REGION_IDS,
    routes: [get('/api/v1/public-keys/latest')],
    disabledReason: 'bodies are not encrypted; use TLS',
  },
  compatibleFiles: {
    name: 'Files (compatible)',
    family: 'compatible',
    regions: REGION_IDS,
    routes: [
      get('/compatible-mode/v1/files'),
      post('/compatible-mode/v1/files'),
      get('/compatible-mode/v1/files/:id'),
      remove('/compatible-mode/v1/files/:id'),
      get('/compatible-mode/v1/files/:id/content'),
    ],
  },
  compatibleUploads: {
    name: 'Uploads in parts',
    family: 'compatible',
    regions: REGION_IDS,
    routes: [
      post('/compatible-mode/v1/uploads'),
      post('/compatible-mode/v1/uploads/:id/parts'),
      post('/compatible-mode/v1/uploads/:id/complete'),
      post('/compatible-mode/v1/uploads/:id/cancel'),
    ],
  },
  batches: {
    name: 'Batches',
    family: 'compatible',
    regions: REGION_IDS,
    routes: [
      get('/compatible-mode/v1/batches'),
      post('/compatible-mode/v1/batches'),
      get('/compatible-mode/v1/batches/:id'),
      post('/compatible-mode/v1/batches/:id/cancel'),
    ],
  },
  tasks: {
    name: 'Tasks',
    family: 'native',
    regions: REGION_IDS,
    routes: [
      get('/api/v1/tasks'),
      get('/api/v1/tasks/:id'),
      post('/api/v1/tasks/:id'),
      post('/api/v1/tasks/:id/cancel'),
    ],
  },
  models: {
    name: 'Models',
    family: 'compatible',
    regions: REGION_IDS,
    routes: [get('/compatible-mode/v1/models'), get('/compatible-mode/v1/models/:id')],
  },
  nativeModels: {
    name: 'Models (native)',
    family: 'native',
    regions: REGION_IDS,
    routes: [get('/api/v1/models')],
  },
  tokenizer: {
    name: 'Tokenizer',
    family: 'native',
    regions: REGION_IDS,
    routes: [post('/api/v1/tokenizer')],
  },
  embeddings: {
    name: 'Embeddings',
    family: 'compatible',
    regions: REGION_IDS,
    routes: [post('/compatible-mode/v1/embeddings')],
    requiredModelInterface: 'embeddings',
  },
  nativeEmbeddings: {
    name: 'Embeddings (native)',
    family: 'native',
    regions: REGION_IDS,
    routes: [post('/api/v1/services/embeddings/text-embedding/text-embedding')],
    requiredModelInterface: 'embeddings',
  },
  multimodalEmbeddings: {
    name: 'Embeddings of images and sound',
    family: 'native',
    regions: REGION_IDS,
    routes: [post('/api/v1/services/embeddings/multimodal-embedding/multimodal-embedding')],
    disabledReason: 'no model embeds images or audio',
  },
  rerank: {
    name: 'Reranking',
    family: 'compatible',
    regions: REGION_IDS,
    routes: [post(RERANKS)],
    requiredModelInterface: 'rerank',
  },
  nativeRerank: {
    name: 'Reranking (native)',
    family: 'native',
    regions: REGION_IDS,
    routes: [post('/api/v1/services/rerank/text-rerank/text-rerank')],
    requiredModelInterface: 'rerank',
  },
} as const satisfies Record<string, PublishedInterface>;

/**
 * Returns the paths that serve a documented path. So that one base URL serves everything, compatible paths, messages and
 * reranking also answer below `/v1`.
 */
export function expandPathAliases(path: string): readonly string[] {
  if (path.startsWith('/compatible-mode/v1/')) return [path, path.slice('/compatible-mode'.length)];
  if (path === MESSAGES || path.startsWith(`${MESSAGES}/`)) return [path, path.slice('/apps/anthropic'.length)];
  return path === RERANKS ? [path, '/v1/reranks', '/v1/rerank'] : [path];
}

export interface InterfaceState {
  readonly name: string;
  readonly paths: readonly string[];
  readonly regions: readonly RegionId[];
  /**
   * `off`: Parley has no code for the interface, the catalogue has no suitable model, or no region of this service
   * offers it. Whether a suitable model is loaded does not matter.
   */
  readonly state: 'on' | 'off';
  /** Why the interface is off; absent when on. */
  readonly reason?: string;
  /** Describes what an interface that is on lacks to be of use. */
  readonly note?: string;
}

/**
 * Returns the state of every documented interface, as the service prints it at startup.
 *
 * @param served Routes that have an endpoint.
 * @param regions The regions of this service.
 * @param selectableByModel Model interfaces that this version serves on a path that several interfaces share.
 * @param findMissingModelReason Returns why no model offers a model interface; undefined if one does.
 * @param searchNote Why a search cannot find anything; absent if one can.
 */
export function listInterfaceStates(
  served: readonly Route[],
  {
    regions,
    selectableByModel = [],
    findMissingModelReason = () => undefined,
    searchNote,
  }: {
    readonly regions: readonly RegionId[];
    readonly selectableByModel?: readonly ModelInterface[];
    readonly findMissingModelReason?: (modelInterface: ModelInterface) => string | undefined;
    readonly searchNote?: string;
  },
): readonly InterfaceState[] {
  const servedKeys = new Set(served.map(({ method, path }) => `${method} ${path}`));
  return Object.values<PublishedInterface>(INTERFACES).map((published) => {
    const paths = [...new Set(published.routes.map((route) => route.path))];
    const shared = { name: published.name, paths, regions: published.regions };
    if (published.disabledReason !== undefined) return { ...shared, state: 'off', reason: published.disabledReason };
    // The first route stands for all.
    const [main] = published.routes;
    const isServed = main !== undefined && servedKeys.has(`${main.method} ${main.path}`);
    if (
      !isServed ||
      (published.selectedByModelInterface && !selectableByModel.includes(published.selectedByModelInterface))
    ) {
      return { ...shared, state: 'off', reason: NOT_SERVED };
    }
    if (!regions.some((region) => published.regions.includes(region))) {
      return { ...shared, state: 'off', reason: `offered in ${published.regions.join(', ')} only` };
    }
    const reason = published.requiredModelInterface && findMissingModelReason(published.requiredModelInterface);
    if (reason !== undefined) return { ...shared, state: 'off', reason };
    const { usefulWithModelInterface: useful } = published;
    const note = published.needsSearch ? searchNote : useful && findMissingModelReason(useful);
    return { ...shared, state: 'on', ...(note === undefined ? {} : { note }) };
  });
}

export interface UnservedRoute extends Route {
  readonly name: string;
  readonly family: ProtocolFamily;
  readonly regions: readonly RegionId[];
  /** Why the route has no endpoint; undefined if this version just does not serve it yet. */
  readonly disabledReason?: string;
}

/** Returns the documented routes without an endpoint; they respond with an error that says so. */
export function listUnservedRoutes(served: readonly Route[]): readonly UnservedRoute[] {
  const servedKeys = new Set(served.map(({ method, path }) => `${method} ${path}`));
  return Object.values<PublishedInterface>(INTERFACES)
    .filter((published) => !published.selectedByModelInterface)
    .flatMap(({ name, family, regions, routes: allRoutes, disabledReason }) =>
      allRoutes.map((route) => ({
        ...route,
        name,
        family,
        regions,
        ...(disabledReason === undefined ? {} : { disabledReason }),
      })),
    )
    .filter(({ method, path }) => !servedKeys.has(`${method} ${path}`));
}

const NOT_SERVED = 'not served by this version';
