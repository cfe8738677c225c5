import type { z } from 'zod';
import type { Owner } from '../../../core/context.ts';
import { ServiceError } from '../../../core/error.ts';
import { omitNullish } from '../../../lib/omit-nullish.ts';
import { checkWorkspace } from '../vocabularies/rules.ts';
import type { Vocabularies } from '../vocabularies/vocabulary.ts';
import type { VocabularyEntry } from '../../../store/vocabularies.ts';
import { createJsonReply } from '../../../protocols/endpoint.ts';
import type { Endpoint } from '../../../protocols/endpoint.ts';
import type { ZonedTime } from '../../../protocols/fields/zoned-time.ts';
import { encodeIgnoredHeader } from '../../../protocols/ignored-header.ts';
import { INTERFACES } from '../../../protocols/interfaces.ts';
import { parseValue, parseBody } from '../../../protocols/parse.ts';
import { encodeCustomizationBody, encodeSummary, encodeVocabulary } from './encode.ts';
import { ACTIONS, CreateBody, CustomizationCall, CUSTOMIZATION_TEXTS, IGNORED_FIELDS } from './schema.ts';
import { ListBody, PAGE_SIZE_DEFAULT, QueryBody, UpdateBody } from './schema.ts';
import type { VocabularyAction, VocabularyEntryWire } from './schema.ts';

export interface CustomizationDeps {
  readonly vocabularies: Vocabularies;
  readonly time: ZonedTime;
  /** Rejects unknown fields with 400 instead of naming them in x-parley-ignored. */
  readonly strict?: boolean;
}

/** Value of `output`, and the unknown fields of the request. */
interface ActionResult {
  readonly output: object;
  readonly unknown: readonly string[];
}

type ActionHandler = (body: unknown, owner: Owner) => Promise<ActionResult>;

/** Creates POST /api/v1/services/audio/asr/customization (docs/wire/dashscope-native.md#vocabularies). */
export function createCustomizationEndpoint({ vocabularies, time, strict = false }: CustomizationDeps): Endpoint {
  const handlers: Record<VocabularyAction, ActionHandler> = {
    create_vocabulary: createActionHandler(
      CreateBody,
      strict,
      async ({ target_model: targetModel, prefix, vocabulary }, owner) => {
        const draft = { targetModel, prefix, entries: vocabulary.map(decodeEntry) };
        return { vocabulary_id: await vocabularies.create(owner, draft) };
      },
    ),
    list_vocabulary: createActionHandler(
      ListBody,
      strict,
      async ({ prefix, page_index: index, page_size: size }, owner) => {
        const limit = size ?? PAGE_SIZE_DEFAULT;
        const query = { ...omitNullish({ prefix: prefix === '' ? null : prefix }), limit, skip: (index ?? 0) * limit };
        const found = await vocabularies.list(owner, query);
        return { vocabulary_list: found.map((each) => encodeSummary(each, time.format)) };
      },
    ),
    query_vocabulary: createActionHandler(QueryBody, strict, async ({ vocabulary_id: id }, owner) =>
      encodeVocabulary(await vocabularies.find(owner, id), time.format),
    ),
    update_vocabulary: createActionHandler(UpdateBody, strict, async ({ vocabulary_id: id, vocabulary }, owner) => {
      await vocabularies.update(owner, id, vocabulary.map(decodeEntry));
      return {};
    }),
    delete_vocabulary: createActionHandler(QueryBody, strict, async ({ vocabulary_id: id }, owner) => {
      await vocabularies.delete(owner, id);
      return {};
    }),
  };
  return {
    operation: 'vocabularies.customize',
    method: 'POST',
    path: '/api/v1/services/audio/asr/customization',
    family: 'native',
    regions: INTERFACES.customization.regions,
    onDisconnect: 'finish',
    async handle({ body }, { owner, requestId }) {
      checkWorkspace(owner);
      const { action } = parseValue(CustomizationCall, body).input;
      if (!isAction(action)) throw createUnknownActionError(action);
      const { output, unknown } = await handlers[action](body, owner);
      return createJsonReply(encodeCustomizationBody(output, requestId), encodeIgnoredHeader(unknown));
    },
  };
}

const createActionHandler =
  <Input extends object>(
    schema: z.ZodObject<{ input: z.ZodType<Input> }>,
    strict: boolean,
    perform: (input: Input, owner: Owner) => Promise<object>,
  ): ActionHandler =>
  async (body, owner) => {
    const { wire, unknown } = parseBody(schema, body, {
      texts: CUSTOMIZATION_TEXTS,
      strict,
      allowedExtraFields: IGNORED_FIELDS,
    });
    return { output: await perform(wire.input, owner), unknown };
  };

const decodeEntry = ({ text, weight, lang }: VocabularyEntryWire): VocabularyEntry => ({
  text: text.toWellFormed(),
  weight,
  ...omitNullish({ lang }),
});

const isAction = (action: string): action is VocabularyAction => ACTIONS.some((each) => each === action);

/**
 * Creates the error for an unknown action, with the code of unsupported operations
 * (docs/wire/dashscope-native.md#errors).
 */
const createUnknownActionError = (action: string): ServiceError =>
  new ServiceError(
    'unsupported',
    `input.action must be one of ${ACTIONS.join(', ')}, got ${JSON.stringify(action.slice(0, 40).toWellFormed())}.`,
    { param: 'input.action' },
  );
