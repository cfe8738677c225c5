import type { EmbeddingEngine } from '../engine.ts';
import type { Supervised } from '../supervisor.ts';
import { createProcessCallers } from './process-callers.ts';
import type { ProcessCallers } from './process-callers.ts';
import type { VectorUp } from './protocol.ts';

/** An engine that makes nothing but vectors. */
export interface VectorEngine extends EmbeddingEngine, Pick<ProcessCallers, 'state' | 'close'> {}

/** Vectors by a small model for nothing else: the side that calls its process, which ends with the engine. */
export function createVectorEngine({ process }: { readonly process: Supervised<VectorUp> }): VectorEngine {
  const callers = createProcessCallers(process);
  return {
    get state() {
      return callers.state;
    },
    dimensions: async () => (await process.ready()).model.dimensions,
    embed: (request, signal) => callers.ask((client) => client.embed(request, signal), signal),
    close: () => callers.close(),
  };
}
