import type { ModelEntry } from '../../../catalogue/model.ts';
import { ServiceError } from '../../../core/error.ts';
import { REQUESTED_MODEL_CHARS_MAX } from '../../../core/limits.ts';
import { collectResult } from '../../../generation/collect-result.ts';
import type { Generate } from '../../../generation/generation.ts';
import type { Translate } from '../../../generation/translation/translation.ts';
import type { Clock } from '../../../lib/clock.ts';
import { omitNullish } from '../../../lib/omit-nullish.ts';
import { createJsonReply, createStreamReply } from '../../endpoint.ts';
import type { Endpoint } from '../../endpoint.ts';
import { decodeChatFields } from '../../fields/decode-chat.ts';
import { decodeServerTools } from '../../fields/decode-server-tools.ts';
import { isTranslationModel } from '../../fields/translation-rules.ts';
import { encodeIgnoredHeader } from '../../ignored-header.ts';
import { listUnparsedCalls } from '../../unparsed-calls.ts';
import { INTERFACES } from '../../interfaces.ts';
import { parseBody } from '../../parse.ts';
import { resolveBodyModel } from '../../resolve-model.ts';
import type { ModelEndpointDeps } from '../../resolve-model.ts';
import { createSearchStreamReply, encodeSearchHeader } from '../../search-outcome.ts';
import { coalesceBatches } from './coalesce-batches.ts';
import { encodeGeneration } from './encode.ts';
import { listIgnoredGenerationFields } from './ignored-fields.ts';
import type { GenerationHandlers } from './generation-handler.ts';
import { toNativePath } from './to-native-path.ts';
import { parseGenerationFields } from './parse-generation-fields.ts';
import { GenerationBody, ModelOnly, createGenerationTexts } from './schema.ts';
import { createGenerationStreamEncoder } from './stream.ts';
import { handleTranslation } from './translation.ts';
import { listIgnoredPlugins, isStreamRequested, isTaskRequested } from './mode-headers.ts';

export interface NativeGenerationDeps extends ModelEndpointDeps {
  readonly generate: Generate;
  readonly translate: Translate;
  /** Models of an interface without a handler are refused. */
  readonly handlers?: GenerationHandlers;
  readonly clock: Clock;
}

/** Creates POST /api/v1/services/aigc/text-generation/generation (docs/wire/dashscope-native.md#generation-request). */
export const createTextGenerationEndpoint = (deps: NativeGenerationDeps): Endpoint =>
  createGenerationEndpoint(deps, {
    operation: 'generation.create',
    path: '/api/v1/services/aigc/text-generation/generation',
    isMultimodal: false,
  });

/** Creates POST …/multimodal-generation/generation (docs/wire/dashscope-native.md#multimodal-generation). */
export const createMultimodalGenerationEndpoint = (deps: NativeGenerationDeps): Endpoint =>
  createGenerationEndpoint(deps, {
    operation: 'multimodal-generation.create',
    path: '/api/v1/services/aigc/multimodal-generation/generation',
    isMultimodal: true,
  });

function createGenerationEndpoint(
  { generate, translate, handlers = {}, catalogue, clock, strict = false }: NativeGenerationDeps,
  { isMultimodal, ...route }: Pick<Endpoint, 'operation' | 'path'> & { readonly isMultimodal: boolean },
): Endpoint {
  return {
    ...route,
    method: 'POST',
    family: 'native',
    regions: INTERFACES.generation.regions,
    onDisconnect: 'cancel',
    async handle({ body, headers: requestHeaders }, context) {
      if (isTaskRequested(requestHeaders)) throw new ServiceError('forbidden', ASYNC_NOT_SUPPORTED);
      const lookup = { catalogue, interface: 'native', exceptInterfaces: OTHER_INTERFACES } as const;
      const { model, resolved } = await resolveBodyModel(ModelOnly, body, lookup, context);
      const { entry } = resolved;
      const isStreamed = isStreamRequested(requestHeaders);
      if (isTranslationModel(entry) && !isMultimodal)
        return await handleTranslation({ translate, clock, strict }, { body, model, resolved, isStreamed }, context);
      const otherInterface = OTHER_INTERFACES.find((each) => entry.interfaces.includes(each));
      const handleOther = otherInterface && !isMultimodal ? handlers[otherInterface] : undefined;
      if (handleOther) return await handleOther({ body, model, entry, isStreamed, strict }, context);
      checkIsChat(model, entry, isMultimodal);
      const { wire, unknown } = parseBody(GenerationBody, body, { texts: () => createGenerationTexts(entry), strict });
      const { fields, format } = parseGenerationFields(wire, entry, { isMultimodal, isStreamed });

      const request = {
        ...decodeChatFields(model, { ...fields, logprobs: format.hasLogprobs }, toNativePath),
        ...omitNullish({ serverTools: decodeServerTools(fields, { reportsSources: true }) }),
      };
      const { batches, ignored } = await generate(request, resolved, context);
      const ignoredNames = [
        ...listIgnoredGenerationFields(wire, fields, format, ignored),
        ...unknown,
        ...listIgnoredPlugins(requestHeaders),
      ];
      if (isStreamed) {
        const headers = encodeIgnoredHeader(ignoredNames);
        const source = format.isIncremental ? batches : coalesceBatches(batches, { clock });
        const encoder = createGenerationStreamEncoder(format, context.requestId);
        if (!request.serverTools) return createStreamReply(source, encoder, headers);
        return createSearchStreamReply(source, encoder, headers);
      }
      const result = await collectResult(batches);
      return createJsonReply(encodeGeneration(result, format, context.requestId), {
        ...encodeIgnoredHeader([...ignoredNames, ...listUnparsedCalls(result)]),
        ...encodeSearchHeader(result),
      });
    },
  };
}

/** Vendor text (docs/wire/dashscope-native.md#errors). */
const ASYNC_NOT_SUPPORTED = 'Current user api does not support asynchronous calls.';

/** Model interfaces that share this path with chat but have their own request format. */
const OTHER_INTERFACES = ['translation', 'research'] as const;

function checkIsChat(model: string, { interfaces }: ModelEntry, isMultimodal: boolean): void {
  const otherInterface = OTHER_INTERFACES.find((each) => interfaces.includes(each));
  if (!otherInterface) return;
  throw new ServiceError(
    'model-not-supported',
    `Unsupported model ${model.slice(0, REQUESTED_MODEL_CHARS_MAX)} for native generation: its interface, ${otherInterface}, is not served ${isMultimodal ? 'on this path' : 'by this version'}.`,
    { param: 'model' },
  );
}
