import type { ModelEntry, ModelInterface } from '../../../catalogue/model.ts';
import type { RequestContext } from '../../../core/context.ts';
import type { Reply } from '../../endpoint.ts';

/** A request to the path of native generation, before its body is parsed. */
export interface GenerationCall {
  readonly body: unknown;
  /** Model name in the request. */
  readonly model: string;
  readonly entry: ModelEntry;
  readonly isStreamed: boolean;
  readonly strict: boolean;
}

/** Answers a request for a model whose interface shares this path with chat but has its own request format. */
export type GenerationHandler = (call: GenerationCall, context: RequestContext) => Promise<Reply>;

export type GenerationHandlers = Partial<Record<ModelInterface, GenerationHandler>>;
