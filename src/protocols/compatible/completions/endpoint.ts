import type { Catalogue } from '../../../catalogue/model.ts';
import { ServiceError } from '../../../core/error.ts';
import { REQUESTED_MODEL_CHARS_MAX } from '../../../core/limits.ts';
import { collectResult } from '../../../generation/collect-result.ts';
import { generateEach } from '../../../generation/generate-each.ts';
import type { Generate } from '../../../generation/generation.ts';
import { toUnixSeconds } from '../../../lib/clock.ts';
import type { Clock } from '../../../lib/clock.ts';
import { createJsonReply, createStreamReply } from '../../endpoint.ts';
import type { Endpoint } from '../../endpoint.ts';
import { encodeIgnoredHeader } from '../../ignored-header.ts';
import { INTERFACES } from '../../interfaces.ts';
import { parseValue, parseBody } from '../../parse.ts';
import { decodeCompletion, setsTemperatureAndTopP } from './decode.ts';
import { encodeCompletion } from './encode.ts';
import { createCompletionHead } from './head.ts';
import { checkCompletionRules } from './rules.ts';
import { CompletionBody, createCompletionTexts, ModelOnly } from './schema.ts';
import type { CompletionWire } from './schema.ts';
import { createCompletionStreamEncoder } from './stream.ts';

export interface CompletionsDeps {
  readonly generate: Generate;
  /** Returns the current catalogue, which changes while the service runs. */
  readonly catalogue: () => Pick<Catalogue, 'resolve'>;
  readonly clock: Clock;
  /** Rejects unknown fields with 400 instead of naming them in x-parley-ignored. */
  readonly strict?: boolean;
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
      const { model } = parseValue(ModelOnly, body);
      context.log.add({ requestedModel: model.slice(0, REQUESTED_MODEL_CHARS_MAX) });
      const { entry } = catalogue().resolve(model, { interface: 'completions', owner: context.owner });
      const { wire, unknown } = parseBody(CompletionBody, body, { texts: createCompletionTexts(entry), strict });
      checkCompletionRules(wire);

      const head = createCompletionHead(wire, { requestId: context.requestId, created: toUnixSeconds(clock.now()) });
      const { batches, ignored } = await generateEach(
        generateCompletion,
        decodeCompletion(wire),
        { interface: 'completions' },
        context,
      );
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
const listIgnoredCompletionFields = (wire: CompletionWire): readonly string[] => [
  ...(setsTemperatureAndTopP(wire) ? ['top_p'] : []),
  // Log probabilities of the generated tokens are returned; those of the echoed prompt are not.
  ...(wire.echo === true && typeof wire.logprobs === 'number' ? ['logprobs(prompt)'] : []),
];

/** Renames `messages` to `prompt` in errors of generation: this interface has no messages. */
function mapErrorParam(thrown: unknown): ServiceError {
  const error = ServiceError.from(thrown);
  if (error.param !== 'messages') return error;
  const { kind, message, retryAfterSeconds, tokenOverflow, cause } = error;
  return new ServiceError(kind, message, { param: 'prompt', retryAfterSeconds, tokenOverflow: tokenOverflow, cause });
}
