import type { ResolvedModel } from '../../../catalogue/model.ts';
import type { RequestContext } from '../../../core/context.ts';
import { collectResult } from '../../../generation/collect-result.ts';
import type { Translate } from '../../../generation/translation/translation.ts';
import type { Clock } from '../../../lib/clock.ts';
import { createJsonReply, createStreamReply, type Reply } from '../../endpoint.ts';
import { decodeChatFields } from '../../fields/decode-chat.ts';
import { decodeTranslationOptions, TranslationOptionsWire } from '../../fields/translation-options.ts';
import { checkTranslation } from '../../fields/translation-rules.ts';
import { encodeIgnoredHeader } from '../../ignored-header.ts';
import { parseBody } from '../../parse.ts';
import { encodeTranslationHeaders, withTranslationComments } from '../../translation-report.ts';
import { coalesceBatches } from './coalesce-batches.ts';
import { encodeGeneration } from './encode.ts';
import type { AnswerFormat } from './answer-format.ts';
import { listIgnoredGenerationFields } from './ignored-fields.ts';
import { topLevelPath } from '../../fields/field-path-mapper.ts';
import { toNativePath } from './to-native-path.ts';
import { parseGenerationFields } from './parse-generation-fields.ts';
import { GenerationBody, createGenerationTexts, Parameters } from './schema.ts';
import { createGenerationStreamEncoder } from './stream.ts';

export const TranslationBody = GenerationBody.extend({
  parameters: Parameters.extend({ translation_options: TranslationOptionsWire.nullish() }).nullish(),
  /** Clients that send the compatible interface's fields put the options here. */
  translation_options: TranslationOptionsWire.nullish(),
});

interface TranslationCall {
  readonly body: unknown;
  /** Model name in the request. */
  readonly model: string;
  readonly resolved: ResolvedModel;
  readonly isStreamed: boolean;
}

/**
 * Answers a request to a translation model. The response always has choices, regardless of `result_format`
 * (docs/wire/dashscope-native.md#translation-request).
 */
export async function handleTranslation(
  { translate, clock, strict }: { readonly translate: Translate; readonly clock: Clock; readonly strict: boolean },
  { body, model, resolved, isStreamed }: TranslationCall,
  context: RequestContext,
): Promise<Reply> {
  const { entry } = resolved;
  const { wire, unknown } = parseBody(TranslationBody, body, { texts: () => createGenerationTexts(entry), strict });
  // A translation consists of several runs and cannot have an output format, so the model's support is not checked.
  const { response_format: outputFormat, ...parameters } = wire.parameters ?? {};
  const parsed = parseGenerationFields({ ...wire, parameters }, entry, { isMultimodal: false, isStreamed });
  const fields = { ...parsed.fields, response_format: outputFormat };
  checkTranslation(fields, context, toNativePath);
  const format = createTranslationFormat(model, { isIncremental: wire.parameters?.incremental_output === true });
  const nested = wire.parameters?.translation_options;
  const options = nested ?? wire.translation_options;
  const request = {
    request: decodeChatFields(model, fields, toNativePath),
    field: 'input.messages',
    ...(options ? { options: decodeTranslationOptions(options, entry, nested ? toNativePath : topLevelPath) } : {}),
  };
  const translation = await translate(request, resolved, context);
  const { batches, ignored } = translation;
  const headers = encodeIgnoredHeader([...listIgnoredGenerationFields(wire, fields, format, ignored), ...unknown]);
  if (!isStreamed) {
    const result = await collectResult(batches);
    return createJsonReply(encodeGeneration(result, format, context.requestId), {
      ...headers,
      ...encodeTranslationHeaders(translation),
    });
  }
  const source = format.isIncremental ? batches : coalesceBatches(batches, { clock });
  return createStreamReply(
    source,
    withTranslationComments(createGenerationStreamEncoder(format, context.requestId), translation),
    headers,
  );
}

export const createTranslationFormat = (
  modelName: string,
  { isIncremental }: { readonly isIncremental: boolean },
): AnswerFormat => ({
  type: 'translation',
  modelName,
  isIncremental,
  hasReasoning: false,
  hasLogprobs: false,
  sources: 'none',
  choiceCount: 1,
});
