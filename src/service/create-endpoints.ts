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
import { createRealtimeHttpEndpoint } from '../protocols/realtime/endpoint.ts';
import type { BatchesModule } from './open-batches.ts';
import type { EnginesModule } from './open-engines.ts';
import type { FilesModule } from './open-files.ts';
import type { GenerationModule } from './open-generation.ts';
import type { ResearchModule } from './open-research.ts';
import type { ResponsesModule } from './open-responses.ts';
import type { TranscriptionsModule } from './open-transcriptions.ts';
import type { VocabulariesModule } from './open-vocabularies.ts';
import type { ServiceContext } from './service-context.ts';

interface EndpointModules {
  readonly engines: EnginesModule;
  readonly generation: GenerationModule;
  readonly responses: ResponsesModule;
  readonly files: FilesModule;
  readonly batches: BatchesModule;
  readonly vocabularies: VocabulariesModule;
  readonly transcriptions: TranscriptionsModule;
  readonly research: ResearchModule;
}

/** The interfaces that this service serves, in the order of its reports. */
export const SERVED_INTERFACES = [
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
] as const;

/** Creates the endpoints of all modules. */
export function createEndpoints(
  { config, clock }: Pick<ServiceContext, 'config' | 'clock'>,
  modules: EndpointModules,
): readonly Endpoint[] {
  const { responses, files, batches, vocabularies, transcriptions, research } = modules;
  const { catalogue, deployments } = modules.engines;
  const { generate, translate, countPrompt, tokenize, embed, rank } = modules.generation;
  // The OpenAI-compatible list omits models that only the native interface serves.
  const modelListDeps = {
    catalogue: () => catalogue,
    served: ['chat', 'responses', 'completions', 'embeddings', 'rerank', 'speech'] as const,
  };
  const { strict } = config;
  const generationDeps = { generate, translate, catalogue: () => catalogue, clock, strict };
  return [
    createChatCompletionsEndpoint(generationDeps),
    createCompletionsEndpoint(generationDeps),
    createTextGenerationEndpoint({
      ...generationDeps,
      research: { research: research.research, runs: research.runs, streamPlan: config.research.streamPlan },
    }),
    createMultimodalGenerationEndpoint(generationDeps),
    createMessagesEndpoint(generationDeps),
    createCountTokensEndpoint({ countPrompt, catalogue: () => catalogue, strict }),
    createMessagesModelListEndpoint({ catalogue: () => catalogue }),
    createMessagesModelGetEndpoint({ catalogue: () => catalogue }),
    createModelListEndpoint(modelListDeps),
    createModelGetEndpoint(modelListDeps),
    createNativeModelListEndpoint({ catalogue: () => catalogue, servedInterfaces: SERVED_INTERFACES }),
    createEmbeddingsEndpoint({ embed, catalogue: () => catalogue, strict }),
    createTextEmbeddingEndpoint({ embed, catalogue: () => catalogue, strict }),
    createRerankEndpoint({ rank, strict }),
    createTextRerankEndpoint({ rank, strict }),
    ...responses.conversationEndpoints,
    ...files.endpoints,
    ...batches.endpoints,
    ...vocabularies.endpoints,
    ...responses.endpoints,
    ...deployments.endpoints,
    createTokenizerEndpoint({ tokenize, catalogue: () => catalogue, strict }),
    ...transcriptions.endpoints,
    ...createFineTuneEndpoints(),
    createRealtimeHttpEndpoint(),
  ];
}
