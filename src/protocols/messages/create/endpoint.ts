import type { Catalogue } from '../../../catalogue/model.ts';
import { ASKED_CHARS_MAX } from '../../../core/limits.ts';
import { collect } from '../../../generation/collect.ts';
import type { Generate } from '../../../generation/generation.ts';
import type { Clock } from '../../../lib/clock.ts';
import { json, stream } from '../../endpoint.ts';
import type { Endpoint } from '../../endpoint.ts';
import { ignoredHeader } from '../../ignored.ts';
import { INTERFACES } from '../../interfaces.ts';
import { parse, parseBody } from '../../parse.ts';
import { decode } from './decode.ts';
import { encode } from './encode.ts';
import { ignoredFields } from './ignored-fields.ts';
import { checkMessagesRules } from './rules.ts';
import { MessagesBody, messagesTexts, ModelOnly } from './schema.ts';
import { messageStream } from './stream.ts';
import { withDefaultThinking } from './thinking.ts';

export interface MessagesNeeds {
  readonly generate: Generate;
  /** The one in force now: it changes while the service runs. */
  readonly catalogue: () => Pick<Catalogue, 'resolve'>;
  readonly clock: Pick<Clock, 'now'>;
  /** Unknown fields are 400 instead of being named in x-parley-ignored. */
  readonly strict?: boolean;
}

/** POST /apps/anthropic/v1/messages (E3). */
export function messagesCreate({ generate, catalogue, clock, strict = false }: MessagesNeeds): Endpoint {
  return {
    operation: 'messages.create',
    method: 'POST',
    path: '/apps/anthropic/v1/messages',
    family: 'messages',
    regions: INTERFACES.messages.regions,
    onDisconnect: 'cancel',
    async handle({ body }, context) {
      const { model } = parse(ModelOnly, body);
      context.log.add({ asked: model.slice(0, ASKED_CHARS_MAX) });
      const { entry } = catalogue().resolve(model, { interface: 'messages', owner: context.owner });
      const { wire: said, unknown } = parseBody(MessagesBody, body, { texts: messagesTexts(entry), strict });
      const wire = withDefaultThinking(said, entry);
      checkMessagesRules(wire, entry);

      const head = { requestId: context.requestId, model, startedAt: clock.now() };
      const { batches, ignored } = await generate(decode(wire), { interface: 'messages' }, context);
      const headers = ignoredHeader([...ignoredFields(wire, ignored), ...unknown]);
      if (wire.stream === true) return stream(batches, messageStream(head), headers);
      return json(encode(head, await collect(batches)), headers);
    },
  };
}
