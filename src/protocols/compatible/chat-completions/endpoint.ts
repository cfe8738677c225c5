import { getForwardedFields } from '../../../catalogue/model.ts';
import { collectResult } from '../../../generation/collect-result.ts';
import type { Generate } from '../../../generation/generation.ts';
import type { Translate } from '../../../generation/translation/translation.ts';
import { toUnixSeconds, type Clock } from '../../../lib/clock.ts';
import { createJsonReply, createStreamReply, type Endpoint } from '../../endpoint.ts';
import { encodeIgnoredHeader } from '../../ignored-header.ts';
import { listUnparsedCalls } from '../../unparsed-calls.ts';
import { INTERFACES } from '../../interfaces.ts';
import { parseBody } from '../../parse.ts';
import { resolveBodyModel, type ModelEndpointDeps } from '../../resolve-model.ts';
import { createSearchStreamReply, encodeSearchHeader } from '../../search-outcome.ts';
import { decodeChatCompletion } from './decode.ts';
import { pickExtraFields } from './extra-fields.ts';
import { encodeChatCompletion } from './encode.ts';
import { listIgnoredChatFields } from './ignored-fields.ts';
import { toIgnoredFieldNames } from '../../fields/ignored-field-names.ts';
import { applyDefaultThinking } from '../../fields/default-thinking.ts';
import { excludesThinking } from '../../fields/parameter-rules.ts';
import { isTranslationModel } from '../../fields/translation-rules.ts';
import { checkChatRules } from './rules.ts';
import { ChatCompletionBody, ModelOnly, createChatTexts } from './schema.ts';
import { createChatStreamEncoder } from './stream.ts';
import { handleTranslation } from './translation.ts';

export interface ChatCompletionsDeps extends ModelEndpointDeps {
  readonly generate: Generate;
  readonly translate: Translate;
  readonly clock: Clock;
}

/** Creates POST /compatible-mode/v1/chat/completions (docs/wire/openai-compatible.md#chat-request). */
export function createChatCompletionsEndpoint({
  generate,
  translate,
  catalogue,
  clock,
  strict = false,
}: ChatCompletionsDeps): Endpoint {
  return {
    operation: 'chat-completions.create',
    method: 'POST',
    path: '/compatible-mode/v1/chat/completions',
    family: 'compatible',
    regions: INTERFACES.chat.regions,
    onDisconnect: 'cancel',
    async handle({ body }, context) {
      const { model, resolved } = await resolveBodyModel(ModelOnly, body, { catalogue, interface: 'chat' }, context);
      const { entry } = resolved;
      const head = { requestId: context.requestId, created: toUnixSeconds(clock.now()), model };
      if (isTranslationModel(entry))
        return await handleTranslation({ translate, strict }, { body, resolved, head }, context);
      const { wire: parsedFields, unknown } = parseBody(ChatCompletionBody, body, {
        texts: () => createChatTexts(entry),
        strict,
        allowedExtraFields: getForwardedFields(entry),
      });
      const wire = applyDefaultThinking(parsedFields, entry, excludesThinking(parsedFields));
      checkChatRules(wire, entry);

      const extraFields = unknown.length > 0 ? pickExtraFields(body, unknown) : undefined;
      const request = extraFields ? { ...decodeChatCompletion(wire), extraFields } : decodeChatCompletion(wire);
      const { batches, ignored } = await generate(request, resolved, context);
      const ignoredNested = unknown.filter((name) => !Object.hasOwn(extraFields ?? {}, name));
      const ignoredNames = [...toIgnoredFieldNames(wire, ignored), ...listIgnoredChatFields(wire), ...ignoredNested];
      if (wire.stream === true) {
        const headers = encodeIgnoredHeader(ignoredNames);
        const encoder = createChatStreamEncoder(head, { includeUsage: wire.stream_options?.include_usage === true });
        if (!request.serverTools) return createStreamReply(batches, encoder, headers);
        return createSearchStreamReply(batches, encoder, headers);
      }
      const result = await collectResult(batches);
      return createJsonReply(encodeChatCompletion(head, result), {
        ...encodeIgnoredHeader([...ignoredNames, ...listUnparsedCalls(result)]),
        ...encodeSearchHeader(result),
      });
    },
  };
}
