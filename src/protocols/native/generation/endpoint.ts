import type { Catalogue, ModelEntry } from '../../../catalogue/model.ts';
import { ServiceError } from '../../../core/error.ts';
import { ASKED_CHARS_MAX } from '../../../core/limits.ts';
import { collect } from '../../../generation/collect.ts';
import type { Generate } from '../../../generation/generation.ts';
import type { Translate } from '../../../generation/translation/translation.ts';
import type { Clock } from '../../../lib/clock.ts';
import { present } from '../../../lib/present.ts';
import { json, stream } from '../../endpoint.ts';
import type { Endpoint } from '../../endpoint.ts';
import { decodeChat } from '../../fields/decode-chat.ts';
import { decodeServerTools } from '../../fields/decode-server-tools.ts';
import { translates } from '../../fields/translation-rules.ts';
import { ignoredHeader } from '../../ignored.ts';
import { INTERFACES } from '../../interfaces.ts';
import { parse, parseBody } from '../../parse.ts';
import { research } from '../research/endpoint.ts';
import type { ResearchNeeds } from '../research/endpoint.ts';
import { coalesced } from './coalesce.ts';
import { encode } from './encode.ts';
import { ignoredFields } from './ignored-fields.ts';
import { place } from './place.ts';
import { readFields } from './read-fields.ts';
import { GenerationBody, ModelOnly, generationTexts } from './schema.ts';
import { generationStream } from './stream.ts';
import { translation } from './translation.ts';
import { ignoredPlugins, wantsStream, wantsTask } from './wants-stream.ts';

export interface GenerationNeeds {
  readonly generate: Generate;
  readonly translate: Translate;
  /** Absent: models of research are refused here. */
  readonly research?: ResearchNeeds;
  /** The one in force now: it changes while the service runs. */
  readonly catalogue: () => Pick<Catalogue, 'resolve'>;
  readonly clock: Clock;
  /** Unknown fields are 400 instead of being named in x-parley-ignored. */
  readonly strict?: boolean;
}

/** POST /api/v1/services/aigc/text-generation/generation (wire.md 1). */
export const textGeneration = (needs: GenerationNeeds): Endpoint =>
  generation(needs, {
    operation: 'generation.create',
    path: '/api/v1/services/aigc/text-generation/generation',
    isMultimodal: false,
  });

/** POST /api/v1/services/aigc/multimodal-generation/generation (wire.md 1.8). */
export const multimodalGeneration = (needs: GenerationNeeds): Endpoint =>
  generation(needs, {
    operation: 'multimodal-generation.create',
    path: '/api/v1/services/aigc/multimodal-generation/generation',
    isMultimodal: true,
  });

function generation(
  { generate, translate, research: researching, catalogue, clock, strict = false }: GenerationNeeds,
  { isMultimodal, ...route }: Pick<Endpoint, 'operation' | 'path'> & { readonly isMultimodal: boolean },
): Endpoint {
  return {
    ...route,
    method: 'POST',
    family: 'native',
    regions: INTERFACES.generation.regions,
    onDisconnect: 'cancel',
    async handle({ body, headers: asked }, context) {
      if (wantsTask(asked)) throw new ServiceError('forbidden', NO_TASKS);
      const { model } = parse(ModelOnly, body);
      context.log.add({ asked: model.slice(0, ASKED_CHARS_MAX) });
      const wanted = { interface: 'native', owner: context.owner, without: OTHER_DIALECTS } as const;
      const { entry } = catalogue().resolve(model, wanted);
      const isStreamed = wantsStream(asked);
      if (translates(entry) && !isMultimodal)
        return await translation({ translate, clock, strict }, { body, model, entry, isStreamed }, context);
      if (researching && entry.interfaces.includes('research') && !isMultimodal)
        return await research({ ...researching, strict }, { body, model, entry, isStreamed }, context);
      checkIsChat(model, entry, isMultimodal);
      const { wire, unknown } = parseBody(GenerationBody, body, { texts: () => generationTexts(entry), strict });
      const { fields, form } = readFields(wire, entry, { isMultimodal, isStreamed });

      const request = {
        ...decodeChat(model, { ...fields, logprobs: form.hasLogprobs }, place),
        ...present({ serverTools: decodeServerTools(fields, { tellsSources: true }) }),
      };
      const { batches, ignored } = await generate(request, { interface: 'native' }, context);
      const headers = ignoredHeader([
        ...ignoredFields(wire, fields, form, ignored),
        ...unknown,
        ...ignoredPlugins(asked),
      ]);
      if (isStreamed) {
        const source = form.isIncremental ? batches : coalesced(batches, { clock });
        return stream(source, generationStream(form, context.requestId), headers);
      }
      return json(encode(await collect(batches), form, context.requestId), headers);
    },
  };
}

/** wire.md 1.7. */
const NO_TASKS = 'Current user api does not support asynchronous calls.';

/** Of models that have this path in common with chat, and speak another dialect on it. */
const OTHER_DIALECTS = ['translation', 'research'] as const;

function checkIsChat(model: string, { interfaces }: ModelEntry, isMultimodal: boolean): void {
  const other = OTHER_DIALECTS.find((each) => interfaces.includes(each));
  if (!other) return;
  throw new ServiceError(
    'model-not-supported',
    `Unsupported model ${model.slice(0, ASKED_CHARS_MAX)} for native generation: its interface, ${other}, is not served ${isMultimodal ? 'on this path' : 'by this version'}.`,
    { param: 'model' },
  );
}
