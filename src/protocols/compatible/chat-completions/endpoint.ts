import { forwardedOf } from '../../../catalogue/model.ts';
import type { Catalogue } from '../../../catalogue/model.ts';
import { ASKED_CHARS_MAX } from '../../../core/limits.ts';
import { collect } from '../../../generation/collect.ts';
import type { Generate } from '../../../generation/generation.ts';
import type { Translate } from '../../../generation/translation/translation.ts';
import { unixSeconds } from '../../../lib/clock.ts';
import type { Clock } from '../../../lib/clock.ts';
import { json, stream } from '../../endpoint.ts';
import type { Endpoint } from '../../endpoint.ts';
import { ignoredHeader } from '../../ignored.ts';
import { INTERFACES } from '../../interfaces.ts';
import { parse, parseBody } from '../../parse.ts';
import { decode } from './decode.ts';
import { furtherFields } from './further-fields.ts';
import { encode } from './encode.ts';
import { ignoredFields } from './ignored-fields.ts';
import { ignoredNames } from '../../fields/ignored-names.ts';
import { withDefaultThinking } from '../../fields/default-thinking.ts';
import { excludesThought } from '../../fields/parameter-rules.ts';
import { translates } from '../../fields/translation-rules.ts';
import { checkRules } from './rules.ts';
import { ChatCompletionBody, ModelOnly, chatTexts } from './schema.ts';
import { chatCompletionStream } from './stream.ts';
import { translation } from './translation.ts';

export interface ChatCompletionsNeeds {
  readonly generate: Generate;
  readonly translate: Translate;
  /** The one in force now: it changes while the service runs. */
  readonly catalogue: () => Pick<Catalogue, 'resolve'>;
  readonly clock: Clock;
  /** Unknown fields are 400 instead of being named in x-parley-ignored. */
  readonly strict?: boolean;
}

/** POST /compatible-mode/v1/chat/completions (E1). */
export function chatCompletions({
  generate,
  translate,
  catalogue,
  clock,
  strict = false,
}: ChatCompletionsNeeds): Endpoint {
  return {
    operation: 'chat-completions.create',
    method: 'POST',
    path: '/compatible-mode/v1/chat/completions',
    family: 'compatible',
    regions: INTERFACES.chat.regions,
    onDisconnect: 'cancel',
    async handle({ body }, context) {
      const { model } = parse(ModelOnly, body);
      context.log.add({ asked: model.slice(0, ASKED_CHARS_MAX) });
      const { entry } = catalogue().resolve(model, { interface: 'chat', owner: context.owner });
      const head = { requestId: context.requestId, created: unixSeconds(clock.now()), model };
      if (translates(entry)) return await translation({ translate, strict }, { body, entry, head }, context);
      const { wire: said, unknown } = parseBody(ChatCompletionBody, body, {
        texts: () => chatTexts(entry),
        strict,
        heard: forwardedOf(entry),
      });
      const wire = withDefaultThinking(said, entry, excludesThought(said));
      checkRules(wire, entry);

      const further = unknown.length > 0 ? furtherFields(body, unknown) : undefined;
      const asked = further ? { ...decode(wire), further } : decode(wire);
      const { batches, ignored } = await generate(asked, { interface: 'chat' }, context);
      const inside = unknown.filter((name) => !Object.hasOwn(further ?? {}, name));
      const headers = ignoredHeader([...ignoredNames(wire, ignored), ...ignoredFields(wire), ...inside]);
      if (wire.stream === true) {
        const encoder = chatCompletionStream(head, { includeUsage: wire.stream_options?.include_usage === true });
        return stream(batches, encoder, headers);
      }
      const result = await collect(batches);
      return json(encode(head, result), headers);
    },
  };
}
