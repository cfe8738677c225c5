import type { EmbeddingEngine } from '../engine.ts';
import type { SupervisedProcess } from '../supervisor.ts';
import { createSpeechClient, type SpeechClient } from './speech-client.ts';
import { createRestartableClient, type RestartableClient } from '../restartable-client.ts';
import type { EmbeddingEndpoint } from './protocol.ts';

/** An engine that computes embeddings only. */
export interface StandaloneEmbeddingEngine
  extends EmbeddingEngine, Pick<RestartableClient<SpeechClient>, 'state' | 'close'> {}

/** Creates the engine that sends calls to an embedding process. Closing the engine stops the process. */
export function createStandaloneEmbeddingEngine({
  process,
}: {
  readonly process: SupervisedProcess<EmbeddingEndpoint>;
}): StandaloneEmbeddingEngine {
  const restartable = createRestartableClient({ process, connect: createSpeechClient });
  return {
    get state() {
      return restartable.state;
    },
    getDimensions: async () => (await process.waitUntilReady()).model.dimensions,
    embed: (request, signal) => restartable.call((client) => client.embed(request, signal), signal),
    close: () => restartable.close(),
  };
}
