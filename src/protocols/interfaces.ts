import type { ModelInterface } from '../catalogue/model.ts';
import type { RegionId } from '../core/region.ts';
import { REGION_IDS } from '../core/region.ts';
import type { Endpoint, Family } from './endpoint.ts';

export interface Route {
  readonly method: Endpoint['method'];
  /** With `:name` for path parameters. */
  readonly path: string;
}

/** One interface of the specification, served by this version or not. */
export interface PublishedInterface {
  readonly name: string;
  readonly family: Family;
  readonly regions: readonly RegionId[];
  readonly routes: readonly Route[];
  /** It has no path of its own: a model that serves this chooses it, and the region rule is checked on the model. */
  readonly chosenBy?: ModelInterface;
  /** What a model has to serve for it to be of any use. */
  readonly needs?: ModelInterface;
  /** Why it is off although its paths are answered: with empty lists, with refusals. */
  readonly off?: string;
}

const BEIJING: readonly RegionId[] = ['cn-beijing'];
const BEIJING_SINGAPORE: readonly RegionId[] = ['cn-beijing', 'ap-southeast-1'];
const WITHOUT_HONG_KONG: readonly RegionId[] = ['cn-beijing', 'ap-southeast-1', 'us-east-1', 'eu-central-1'];

const CHAT = '/compatible-mode/v1/chat/completions';
const GENERATION = '/api/v1/services/aigc/text-generation/generation';
const MESSAGES = '/apps/anthropic/v1/messages';
/** Specification, Versioning 3: callers are to move to the path without its first parts. */
export const OLD_RESPONSES = '/api/v2/apps/protocols/compatible-mode/v1/responses';

const route =
  (method: Route['method']) =>
  (path: string): Route => ({ method, path });
const get = route('GET');
const post = route('POST');
const put = route('PUT');
const remove = route('DELETE');

/**
 * The specification's table of interfaces and regions, and the paths that clients are known to call (wire.md). Regions
 * that the specification leaves open are filled by decisions.md "Regions, keys, workspaces".
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
    chosenBy: 'translation',
    needs: 'translation',
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
    chosenBy: 'research',
    needs: 'research',
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
      post(OLD_RESPONSES),
      post(`${OLD_RESPONSES}/input_tokens`),
      get(`${OLD_RESPONSES}/:id`),
      remove(`${OLD_RESPONSES}/:id`),
      get(`${OLD_RESPONSES}/:id/input_items`),
      post(`${OLD_RESPONSES}/:id/cancel`),
      post(`${OLD_RESPONSES}/compact`),
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
    needs: 'speech',
  },
  transcription: {
    name: 'Speech recognition',
    family: 'native',
    regions: BEIJING_SINGAPORE,
    routes: [post('/api/v1/services/audio/asr/transcription')],
    needs: 'speech',
  },
  compatibleTranscription: {
    name: 'Speech recognition (compatible)',
    family: 'compatible',
    regions: BEIJING_SINGAPORE,
    routes: [post('/compatible-mode/v1/audio/transcriptions')],
    needs: 'speech',
  },
  realtime: {
    name: 'Realtime recognition',
    family: 'native',
    regions: BEIJING_SINGAPORE,
    routes: [get('/api-ws/v1/inference')],
    needs: 'speech',
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
    off: 'capacity is not bought for a time here, and what is over a reservation is refused',
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
    off: 'there is no bucket beside this service',
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
    off: 'nothing is trained here',
  },
  encryption: {
    name: 'Request encryption',
    family: 'native',
    regions: REGION_IDS,
    routes: [get('/api/v1/public-keys/latest')],
    off: 'bodies are not encrypted; use TLS',
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
    needs: 'embeddings',
  },
  nativeEmbeddings: {
    name: 'Embeddings (native)',
    family: 'native',
    regions: REGION_IDS,
    routes: [post('/api/v1/services/embeddings/text-embedding/text-embedding')],
    needs: 'embeddings',
  },
  multimodalEmbeddings: {
    name: 'Embeddings of images and sound',
    family: 'native',
    regions: REGION_IDS,
    routes: [post('/api/v1/services/embeddings/multimodal-embedding/multimodal-embedding')],
    off: 'no model here makes vectors of them',
  },
  rerank: {
    name: 'Reranking',
    family: 'compatible',
    regions: REGION_IDS,
    routes: [post('/compatible-api/v1/reranks')],
    needs: 'rerank',
  },
  nativeRerank: {
    name: 'Reranking (native)',
    family: 'native',
    regions: REGION_IDS,
    routes: [post('/api/v1/services/rerank/text-rerank/text-rerank')],
    needs: 'rerank',
  },
} as const satisfies Record<string, PublishedInterface>;

/** Every compatible path also answers without its first part. */
export function pathsOf(path: string): readonly string[] {
  return path.startsWith('/compatible-mode/v1/') ? [path, path.slice('/compatible-mode'.length)] : [path];
}

export interface InterfaceState {
  readonly name: string;
  readonly paths: readonly string[];
  readonly regions: readonly RegionId[];
  /** `off` here: no code for it, nothing to do it with, or not in any region of this service. Whether its model runs is the catalogue's word. */
  readonly state: 'on' | 'off';
  /** Why it is off; absent when on. */
  readonly reason?: string;
}

/**
 * What the start-up tree prints: each interface of the specification, on or off and why.
 *
 * @param served The endpoints there are.
 * @param regions The regions this service answers for.
 * @param byModel What a model may choose on a shared path, of what this version has the code for.
 * @param lacking Why there is no model for something; undefined where there is one.
 */
export function interfaceStates(
  served: readonly Route[],
  {
    regions,
    byModel = [],
    lacking = () => undefined,
  }: {
    readonly regions: readonly RegionId[];
    readonly byModel?: readonly ModelInterface[];
    readonly lacking?: (needed: ModelInterface) => string | undefined;
  },
): readonly InterfaceState[] {
  const have = new Set(served.map(({ method, path }) => `${method} ${path}`));
  return Object.values<PublishedInterface>(INTERFACES).map((published) => {
    const paths = [...new Set(published.routes.map((route) => route.path))];
    const facts = { name: published.name, paths, regions: published.regions };
    if (published.off !== undefined) return { ...facts, state: 'off', reason: published.off };
    const [main] = published.routes;
    const isServed = main !== undefined && have.has(`${main.method} ${main.path}`);
    if (!isServed || (published.chosenBy && !byModel.includes(published.chosenBy))) {
      return { ...facts, state: 'off', reason: NOT_SERVED };
    }
    if (!regions.some((region) => published.regions.includes(region))) {
      return { ...facts, state: 'off', reason: `offered in ${published.regions.join(', ')} only` };
    }
    const reason = published.needs && lacking(published.needs);
    return reason === undefined ? { ...facts, state: 'on' } : { ...facts, state: 'off', reason };
  });
}

export interface UnservedRoute extends Route {
  readonly name: string;
  readonly family: Family;
  readonly regions: readonly RegionId[];
  /** Why, where it is not for want of code. */
  readonly off?: string;
}

/** Documented paths without an endpoint: they are answered with a refusal that says so. */
export function unservedRoutes(served: readonly Route[]): readonly UnservedRoute[] {
  const have = new Set(served.map(({ method, path }) => `${method} ${path}`));
  return Object.values<PublishedInterface>(INTERFACES)
    .filter((published) => !published.chosenBy)
    .flatMap(({ name, family, regions, routes: all, off }) =>
      all.map((route) => ({ ...route, name, family, regions, ...(off === undefined ? {} : { off }) })),
    )
    .filter(({ method, path }) => !have.has(`${method} ${path}`));
}

const NOT_SERVED = 'not served by this version';
