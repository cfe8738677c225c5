import type { ModelEntry } from '../../../catalogue/model.ts';
import type { RequestContext } from '../../../core/context.ts';
import { collect } from '../../../generation/collect.ts';
import type { Translate } from '../../../generation/translation/translation.ts';
import type { Clock } from '../../../lib/clock.ts';
import { json, stream } from '../../endpoint.ts';
import type { Reply } from '../../endpoint.ts';
import { decodeChat } from '../../fields/decode-chat.ts';
import { decodeTranslationOptions, TranslationOptionsWire } from '../../fields/translation-options.ts';
import { checkTranslation } from '../../fields/translation-rules.ts';
import { ignoredHeader } from '../../ignored.ts';
import { parseBody } from '../../parse.ts';
import { termsHeader, withTermsTold } from '../../terms-told.ts';
import { coalesced } from './coalesce.ts';
import { encode } from './encode.ts';
import type { AnswerForm } from './form.ts';
import { ignoredFields } from './ignored-fields.ts';
import { place } from './place.ts';
import { readFields } from './read-fields.ts';
import { GenerationBody, generationTexts, Parameters } from './schema.ts';
import { generationStream } from './stream.ts';

export const TranslationBody = GenerationBody.extend({
  parameters: Parameters.extend({ translation_options: TranslationOptionsWire.nullish() }).nullish(),
});

interface Asked {
  readonly body: unknown;
  /** As the caller wrote it. */
  readonly model: string;
  readonly entry: ModelEntry;
  readonly isStreamed: boolean;
}

/** The path's answer of a translation model (E2, wire.md E2.3): always choices, whatever `result_format` says. */
export async function translation(
  { translate, clock, strict }: { readonly translate: Translate; readonly clock: Clock; readonly strict: boolean },
  { body, model, entry, isStreamed }: Asked,
  context: RequestContext,
): Promise<Reply> {
  const { wire, unknown } = parseBody(TranslationBody, body, { texts: () => generationTexts(entry), strict });
  // No answer of several runs has a format, so whether the model could keep one is not asked.
  const { response_format: outputFormat, ...parameters } = wire.parameters ?? {};
  const read = readFields({ ...wire, parameters }, entry, { isMultimodal: false, isStreamed });
  const fields = { ...read.fields, response_format: outputFormat };
  checkTranslation(fields, context, place);
  const form = translationForm(model, { isIncremental: wire.parameters?.incremental_output === true });
  const asked = wire.parameters?.translation_options;
  const wish = {
    request: decodeChat(model, fields, place),
    field: 'input.messages',
    ...(asked ? { options: decodeTranslationOptions(asked, entry, place) } : {}),
  };
  const { batches, ignored, terms } = await translate(wish, { interface: 'native' }, context);
  const headers = ignoredHeader([...ignoredFields(wire, fields, form, ignored), ...unknown]);
  if (!isStreamed) {
    const result = await collect(batches);
    return json(encode(result, form, context.requestId), { ...headers, ...termsHeader(terms()) });
  }
  const source = form.isIncremental ? batches : coalesced(batches, { clock });
  return stream(source, withTermsTold(generationStream(form, context.requestId), terms), headers);
}

export const translationForm = (
  modelName: string,
  { isIncremental }: { readonly isIncremental: boolean },
): AnswerForm => ({
  type: 'translation',
  modelName,
  isIncremental,
  hasThought: false,
  hasLogprobs: false,
  sources: 'none',
  choices: 1,
});
