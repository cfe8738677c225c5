import type { ResolvedModel } from '../../../catalogue/model.ts';
import type { RequestContext } from '../../../core/context.ts';
import type { GenerationEvent } from '../../../core/event.ts';
import { collectResult } from '../../../generation/collect-result.ts';
import type { Translate } from '../../../generation/translation/translation.ts';
import { createJsonReply, createStreamReply, type Reply } from '../../endpoint.ts';
import { toIgnoredFieldNames } from '../../fields/ignored-field-names.ts';
import { topLevelPath } from '../../fields/field-path-mapper.ts';
import { decodeTranslationOptions, TranslationOptionsWire } from '../../fields/translation-options.ts';
import { checkTranslation } from '../../fields/translation-rules.ts';
import { encodeIgnoredHeader } from '../../ignored-header.ts';
import { parseBody } from '../../parse.ts';
import { encodeTranslationHeaders, withTranslationComments } from '../../translation-report.ts';
import { decodeChatCompletion } from './decode.ts';
import { encodeChatCompletion } from './encode.ts';
import type { ChatHead } from './head.ts';
import { listIgnoredChatFields } from './ignored-fields.ts';
import { checkChatRules } from './rules.ts';
import { ChatCompletionBody, createChatTexts } from './schema.ts';
import { createChatStreamEncoder } from './stream.ts';

export const TranslationBody = ChatCompletionBody.extend({ translation_options: TranslationOptionsWire.nullish() });

interface TranslationCall {
  readonly body: unknown;
  readonly resolved: ResolvedModel;
  readonly head: ChatHead;
}

/** Handles a chat completion request to a translation model (docs/wire/dashscope-native.md#translation-request). */
export async function handleTranslation(
  { translate, strict }: { readonly translate: Translate; readonly strict: boolean },
  { body, resolved, head }: TranslationCall,
  context: RequestContext,
): Promise<Reply> {
  const { entry } = resolved;
  const { wire, unknown } = parseBody(TranslationBody, body, { texts: () => createChatTexts(entry), strict });
  checkTranslation(wire, context, topLevelPath);
  // A translation ignores the output format, so a format that the model cannot produce is no error.
  checkChatRules({ ...wire, response_format: undefined }, entry);
  const wireOptions = wire.translation_options;
  const request = {
    request: decodeChatCompletion(wire),
    field: 'messages',
    ...(wireOptions ? { options: decodeTranslationOptions(wireOptions, entry, topLevelPath) } : {}),
  };
  const translation = await translate(request, resolved, context);
  const { batches, ignored } = translation;
  const headers = encodeIgnoredHeader([
    ...toIgnoredFieldNames(wire, ignored),
    ...listIgnoredChatFields(wire),
    ...unknown,
  ]);
  if (wire.stream !== true) {
    const result = await collectResult(batches);
    return createJsonReply(encodeChatCompletion(head, result), {
      ...headers,
      ...encodeTranslationHeaders(translation),
    });
  }
  const encoder = createChatStreamEncoder(head, { includeUsage: wire.stream_options?.include_usage === true });
  const source = entry.cumulative === true ? accumulateText(batches) : batches;
  return createStreamReply(source, withTranslationComments(encoder, translation), headers);
}

type Batches = AsyncIterable<readonly GenerationEvent[]>;

/** Replaces the text of each delta by all text so far. A translation has exactly one choice. */
function accumulateText(batches: Batches): Batches {
  const source = batches[Symbol.asyncIterator]();
  let text = '';
  const withTextSoFar = (event: GenerationEvent): GenerationEvent => {
    if (event.type !== 'block-delta') return event;
    text += event.text;
    return { ...event, text };
  };
  return {
    [Symbol.asyncIterator]: () => ({
      async next() {
        const step = await source.next();
        return step.done === true ? step : { done: false, value: step.value.map(withTextSoFar) };
      },
      async return() {
        await source.return?.();
        return { done: true, value: undefined };
      },
    }),
  };
}
