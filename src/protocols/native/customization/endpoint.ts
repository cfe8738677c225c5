import type { z } from 'zod';
import type { Owner } from '../../../core/context.ts';
import { ServiceError } from '../../../core/error.ts';
import { present } from '../../../lib/present.ts';
import { checkWorkspace } from '../../../resources/vocabularies/rules.ts';
import type { Vocabularies } from '../../../resources/vocabularies/vocabulary.ts';
import type { VocabularyEntry } from '../../../store/vocabularies.ts';
import { json } from '../../endpoint.ts';
import type { Endpoint } from '../../endpoint.ts';
import type { ZonedTime } from '../../fields/zoned-time.ts';
import { ignoredHeader } from '../../ignored.ts';
import { INTERFACES } from '../../interfaces.ts';
import { parse, parseBody } from '../../parse.ts';
import { encodeAnswer, encodeSummary, encodeVocabulary } from './encode.ts';
import { ACTIONS, CreateBody, CustomizationCall, customizationTexts, DeleteBody, HEARD } from './schema.ts';
import { ListBody, PAGE_SIZE_DEFAULT, QueryBody, UpdateBody } from './schema.ts';
import type { Action, EntryWire } from './schema.ts';

export interface CustomizationNeeds {
  readonly vocabularies: Vocabularies;
  readonly time: ZonedTime;
  /** Unknown fields are 400 instead of being named in x-parley-ignored. */
  readonly strict?: boolean;
}

/** What is told as `output`, and the fields that nobody heard. */
interface Outcome {
  readonly output: object;
  readonly unknown: readonly string[];
}

type Act = (body: unknown, owner: Owner) => Promise<Outcome>;

/** POST /api/v1/services/audio/asr/customization (specification, E7; wire.md E7.1). */
export function customization({ vocabularies, time, strict = false }: CustomizationNeeds): Endpoint {
  const acts: Record<Action, Act> = {
    create_vocabulary: act(CreateBody, strict, async ({ target_model: targetModel, prefix, vocabulary }, owner) => {
      const draft = { targetModel, prefix, entries: vocabulary.map(decodeEntry) };
      return { vocabulary_id: await vocabularies.create(owner, draft) };
    }),
    list_vocabulary: act(ListBody, strict, async ({ prefix, page_index: index, page_size: size }, owner) => {
      const limit = size ?? PAGE_SIZE_DEFAULT;
      const wish = { ...present({ prefix: prefix === '' ? null : prefix }), limit, skip: (index ?? 0) * limit };
      const found = await vocabularies.list(owner, wish);
      return { vocabulary_list: found.map((each) => encodeSummary(each, time.show)) };
    }),
    query_vocabulary: act(QueryBody, strict, async ({ vocabulary_id: id }, owner) =>
      encodeVocabulary(await vocabularies.find(owner, id), time.show),
    ),
    update_vocabulary: act(UpdateBody, strict, async ({ vocabulary_id: id, vocabulary }, owner) => {
      await vocabularies.update(owner, id, vocabulary.map(decodeEntry));
      return {};
    }),
    delete_vocabulary: act(DeleteBody, strict, async ({ vocabulary_id: id }, owner) => {
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
      const { action } = parse(CustomizationCall, body).input;
      if (!isAction(action)) throw unknownAction(action);
      const { output, unknown } = await acts[action](body, owner);
      return json(encodeAnswer(output, requestId), ignoredHeader(unknown));
    },
  };
}

const act =
  <Input extends object>(
    schema: z.ZodObject<{ input: z.ZodType<Input> }>,
    strict: boolean,
    perform: (input: Input, owner: Owner) => Promise<object>,
  ): Act =>
  async (body, owner) => {
    const { wire, unknown } = parseBody(schema, body, { texts: customizationTexts, strict, heard: HEARD });
    return { output: await perform(wire.input, owner), unknown };
  };

const decodeEntry = ({ text, weight, lang }: EntryWire): VocabularyEntry => ({
  text: text.toWellFormed(),
  weight,
  ...present({ lang }),
});

const isAction = (action: string): action is Action => ACTIONS.some((each) => each === action);

/** wire.md 1.7: an action that is not supported has the code of what is not. */
const unknownAction = (action: string): ServiceError =>
  new ServiceError(
    'unsupported',
    `input.action must be one of ${ACTIONS.join(', ')}, got ${JSON.stringify(action.slice(0, 40).toWellFormed())}.`,
    { param: 'input.action' },
  );
