import type { ModelEntry } from '../../../catalogue/model.ts';
import type { RequestContext } from '../../../core/context.ts';
import type { GenerationEvent } from '../../../core/event.ts';
import { collect } from '../../../generation/collect.ts';
import type { Translate } from '../../../generation/translation/translation.ts';
import { json, stream } from '../../endpoint.ts';
import type { Reply } from '../../endpoint.ts';
import { ignoredNames } from '../../fields/ignored-names.ts';
import { atTop } from '../../fields/place.ts';
import { decodeTranslationOptions, TranslationOptionsWire } from '../../fields/translation-options.ts';
import { checkTranslation } from '../../fields/translation-rules.ts';
import { ignoredHeader } from '../../ignored.ts';
import { parseBody } from '../../parse.ts';
import { termsHeader, withTermsTold } from '../../terms-told.ts';
import { decode } from './decode.ts';
import { encode } from './encode.ts';
import type { ChatHead } from './head.ts';
import { ignoredFields } from './ignored-fields.ts';
import { checkRules } from './rules.ts';
import { ChatCompletionBody, chatTexts } from './schema.ts';
import { chatCompletionStream } from './stream.ts';

export const TranslationBody = ChatCompletionBody.extend({ translation_options: TranslationOptionsWire.nullish() });

interface Asked {
  readonly body: unknown;
  readonly entry: ModelEntry;
  readonly head: ChatHead;
}

/** The path's answer of a translation model (E2). */
export async function translation(
  { translate, strict }: { readonly translate: Translate; readonly strict: boolean },
  { body, entry, head }: Asked,
  context: RequestContext,
): Promise<Reply> {
  const { wire, unknown } = parseBody(TranslationBody, body, { texts: () => chatTexts(entry), strict });
  checkTranslation(wire, context, atTop);
  // No answer of several runs has a format, so whether the model could keep one is not asked.
  checkRules({ ...wire, response_format: undefined }, entry);
  const asked = wire.translation_options;
  const wish = {
    request: decode(wire),
    field: 'messages',
    ...(asked ? { options: decodeTranslationOptions(asked, entry, atTop) } : {}),
  };
  const { batches, ignored, terms } = await translate(wish, { interface: 'chat' }, context);
  const headers = ignoredHeader([...ignoredNames(wire, ignored), ...ignoredFields(wire), ...unknown]);
  if (wire.stream !== true) {
    const result = await collect(batches);
    return json(encode(head, result), { ...headers, ...termsHeader(terms()) });
  }
  const encoder = chatCompletionStream(head, { includeUsage: wire.stream_options?.include_usage === true });
  const source = entry.cumulative === true ? cumulative(batches) : batches;
  return stream(source, withTermsTold(encoder, terms), headers);
}

type Batches = AsyncIterable<readonly GenerationEvent[]>;

/** Each delta as the whole text so far, of the one choice that a translation has. */
export function cumulative(batches: Batches): Batches {
  const source = batches[Symbol.asyncIterator]();
  let text = '';
  const soFar = (event: GenerationEvent): GenerationEvent => {
    if (event.type !== 'block-delta') return event;
    text += event.text;
    return { ...event, text };
  };
  return {
    [Symbol.asyncIterator]: () => ({
      async next() {
        const step = await source.next();
        return step.done === true ? step : { done: false, value: step.value.map(soFar) };
      },
      async return() {
        await source.return?.();
        return { done: true, value: undefined };
      },
    }),
  };
}
