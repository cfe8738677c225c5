import type { ModelInterface } from '../catalogue/model.ts';
import { createChatCompletionsEndpoint } from '../protocols/compatible/chat-completions/endpoint.ts';
import { createCompletionsEndpoint } from '../protocols/compatible/completions/endpoint.ts';
import { createEmbeddingsEndpoint } from '../protocols/compatible/embeddings/endpoint.ts';
import { createModelGetEndpoint, createModelListEndpoint } from '../protocols/compatible/models/endpoint.ts';
import { createRerankEndpoint } from '../protocols/compatible/rerank/endpoint.ts';
import type { Endpoint } from '../protocols/endpoint.ts';
import { createCountTokensEndpoint } from '../protocols/messages/count-tokens/endpoint.ts';
import { createMessagesEndpoint } from '../protocols/messages/create/endpoint.ts';
import {
  createMessagesModelGetEndpoint,
  createMessagesModelListEndpoint,
} from '../protocols/messages/models/endpoint.ts';
import { createFineTuneEndpoints } from '../protocols/native/fine-tunes/endpoint.ts';
import {
  createMultimodalGenerationEndpoint,
  createTextGenerationEndpoint,
} from '../protocols/native/generation/endpoint.ts';
import { createNativeModelListEndpoint } from '../protocols/native/models/endpoint.ts';
import { createTextRerankEndpoint } from '../protocols/native/rerank/endpoint.ts';
import { createTextEmbeddingEndpoint } from '../protocols/native/text-embedding/endpoint.ts';
import { createTokenizerEndpoint } from '../protocols/native/tokenizer/endpoint.ts';
import type { CapabilityModule } from './capability.ts';
import type { EnginesModule } from './open-engines.ts';
import type { GenerationModule } from './open-generation.ts';
import type { ServiceContext } from './service-context.ts';

interface GenerationEndpointDeps {
  readonly engines: EnginesModule;
  readonly generation: GenerationModule;
  readonly capabilities: readonly CapabilityModule[];
}

/** All model interfaces, in the order of the service's reports. */
const MODEL_INTERFACES = [
  'chat',
  'completions',
  'messages',
  'responses',
  'native',
  'translation',
  'research',
  'embeddings',
  'rerank',
  'speech',
] as const satisfies readonly ModelInterface[];

/** Model interfaces that only capabilities serve. */
const OPTIONAL_INTERFACES: ReadonlySet<ModelInterface> = new Set(['research', 'speech']);

/** Lists the model interfaces that a service with these capabilities serves, in the order of its reports. */
export function listServedInterfaces(capabilities: readonly CapabilityModule[]): readonly ModelInterface[] {
  const added = new Set(capabilities.flatMap(({ interfaces = [] }) => interfaces));
  return MODEL_INTERFACES.filter((each) => !OPTIONAL_INTERFACES.has(each) || added.has(each));
}

/** Model interfaces with an OpenAI-compatible endpoint of their own. */
const COMPATIBLE_INTERFACES: ReadonlySet<ModelInterface> = new Set([
  'chat',
  'responses',
  'completions',
  'embeddings',
  'rerank',
  'speech',
]);

/** Creates the endpoints for text, vectors and rankings, and the lists of models. */
export function createGenerationEndpoints(
  { config, clock }: Pick<ServiceContext, 'config' | 'clock'>,
  modules: GenerationEndpointDeps,
): readonly Endpoint[] {
  const { capabilities } = modules;
  const servedInterfaces = listServedInterfaces(capabilities);
  const { catalogue } = modules.engines;
  const { generate, translate, countPrompt, tokenize, embed, rank } = modules.generation;
  // The OpenAI-compatible list omits models that only the native interface serves.
  const modelListDeps = {
    catalogue: () => catalogue,
    served: servedInterfaces.filter((each) => COMPATIBLE_INTERFACES.has(each)),
  };
  const { strict } = config;
  const generationDeps = { generate, translate, catalogue: () => catalogue, clock, strict };
  return [
    createChatCompletionsEndpoint(generationDeps),
    createCompletionsEndpoint(generationDeps),
    createTextGenerationEndpoint({
      ...generationDeps,
      handlers: Object.assign({}, ...capabilities.map(({ generationHandlers }) => generationHandlers)),
    }),
    createMultimodalGenerationEndpoint(generationDeps),
    createMessagesEndpoint(generationDeps),
    createCountTokensEndpoint({ countPrompt, catalogue: () => catalogue, strict }),
    createMessagesModelListEndpoint({ catalogue: () => catalogue }),
    createMessagesModelGetEndpoint({ catalogue: () => catalogue }),
    createModelListEndpoint(modelListDeps),
    createModelGetEndpoint(modelListDeps),
    createNativeModelListEndpoint({ catalogue: () => catalogue, servedInterfaces }),
    createEmbeddingsEndpoint({ embed, catalogue: () => catalogue, strict }),
    createTextEmbeddingEndpoint({ embed, catalogue: () => catalogue, strict }),
    createRerankEndpoint({ rank, strict }),
    createTextRerankEndpoint({ rank, strict }),
    createTokenizerEndpoint({ tokenize, catalogue: () => catalogue, strict }),
    ...createFineTuneEndpoints(),
  ];
}
