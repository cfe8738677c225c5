import { ServiceError } from '../../../core/error.ts';
import { collectResult } from '../../../generation/collect-result.ts';
import { generateEach } from '../../../generation/generate-each.ts';
import type { Generate } from '../../../generation/generation.ts';
import { toUnixSeconds, type Clock } from '../../../lib/clock.ts';
import { createJsonReply, createStreamReply, type Endpoint } from '../../endpoint.ts';
import { encodeIgnoredHeader } from '../../ignored-header.ts';
import { INTERFACES } from '../../interfaces.ts';
import { parseBody } from '../../parse.ts';
import { resolveBodyModel, type ModelEndpointDeps } from '../../resolve-model.ts';
import { decodeCompletion, setsTemperatureAndTopP } from './decode.ts';
import { encodeCompletion } from './encode.ts';
import { createCompletionHead } from './head.ts';
import { checkCompletionRules } from './rules.ts';
import { CompletionBody, createCompletionTexts, ModelOnly, type CompletionWire } from './schema.ts';
import { createCompletionStreamEncoder } from './stream.ts';

export interface CompletionsDeps extends ModelEndpointDeps {
  readonly generate: Generate;
  readonly clock: Clock;
}

/** Creates POST /compatible-mode/v1/completions (docs/wire/openai-compatible.md#completions). */
export function createCompletionsEndpoint({ generate, catalogue, clock, strict = false }: CompletionsDeps): Endpoint {
  const generateCompletion: Generate = (...request) =>
    generate(...request).catch((error: unknown) => {
      throw mapErrorParam(error);
    });
  return {
    operation: 'completions.create',
    method: 'POST',
    path: '/compatible-mode/v1/completions',
    family: 'compatible',
    regions: INTERFACES.completions.regions,
    onDisconnect: 'cancel',
    async handle({ body }, context) {
      const { resolved } = await resolveBodyModel(ModelOnly, body, { catalogue, interface: 'completions' }, context);
      const { entry } = resolved;
      const { wire, unknown } = parseBody(CompletionBody, body, { texts: createCompletionTexts(entry), strict });
      checkCompletionRules(wire, entry);

      const head = createCompletionHead(wire, { requestId: context.requestId, created: toUnixSeconds(clock.now()) });
      const { batches, ignored } = await generateEach(generateCompletion, decodeCompletion(wire), resolved, context);
      const headers = encodeIgnoredHeader([...ignored, ...listIgnoredCompletionFields(wire), ...unknown]);
      if (wire.stream === true) {
        const encoder = createCompletionStreamEncoder(head, {
          includeUsage: wire.stream_options?.include_usage === true,
        });
        return createStreamReply(batches, encoder, headers);
      }
      return createJsonReply(encodeCompletion(head, await collectResult(batches)), headers);
    },
  };
}

/** Lists known fields that have no effect, or only part of it. */
const listIgnoredCompletionFields = (wire: CompletionWire): readonly string[] =>
  setsTemperatureAndTopP(wire) ? ['top_p'] : [];

/** Renames `messages` to `prompt` in errors of generation: this interface has no messages. */
function mapErrorParam(thrown: unknown): ServiceError {
  const error = ServiceError.from(thrown);
  if (error.param !== 'messages') return error;
  const { kind, message, retryAfterSeconds, tokenOverflow, cause } = error;
  return new ServiceError(kind, message, { param: 'prompt', retryAfterSeconds, tokenOverflow: tokenOverflow, cause });
}
