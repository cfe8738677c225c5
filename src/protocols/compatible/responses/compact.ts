import { z } from 'zod';
import type { FindDocument } from '../../../core/document.ts';
import type { IdGenerator } from '../../../core/id.ts';
import type { Generate } from '../../../generation/generation.ts';
import { summarizeTranscript } from '../../../generation/summarize-transcript.ts';
import { NO_USAGE } from '../../../generation/translation/collect-text.ts';
import { toUnixSeconds, type Clock } from '../../../lib/clock.ts';
import type { Responses } from '../../../resources/responses/response.ts';
import { createJsonReply, type Endpoint } from '../../endpoint.ts';
import { encodeIgnoredHeader } from '../../ignored-header.ts';
import { INTERFACES } from '../../interfaces.ts';
import { MESSAGES_MAX } from '../../limits.ts';
import { createFieldError, parseBody } from '../../parse.ts';
import { resolveBodyModel, type ModelEndpointDeps } from '../../resolve-model.ts';
import { checkCallResults } from '../items/check-call-results.ts';
import { checkFileReferences } from '../items/check-file-references.ts';
import { encodeSummary } from '../items/compaction-item.ts';
import { createItems } from '../items/create-items.ts';
import { encodeItem } from '../items/item-list.ts';
import { getItemPrefix } from '../items/item-prefixes.ts';
import type { WireItem } from '../items/item-schema.ts';
import { renderTranscript } from '../items/render-transcript.ts';
import { resolveReferences } from '../items/resolve-references.ts';
import { parseStoredItem } from '../items/stored-item.ts';
import { encodeDroppedHeader } from './dropped-header.ts';
import { mapErrorParam } from './map-error-param.ts';
import { ModelOnly } from './schema.ts';
import { encodeUsage } from './usage.ts';

export interface CompactDeps extends ModelEndpointDeps {
  readonly responses: Pick<Responses, 'readHistory' | 'findItems'>;
  readonly generate: Generate;
  readonly findDocument: FindDocument;
  readonly ids: Pick<IdGenerator, 'createSortableId'>;
  readonly clock: Pick<Clock, 'now'>;
}

const CompactBody = z.object({
  model: z.string().min(1),
  input: z.unknown().optional(),
  instructions: z.string().nullish(),
  previous_response_id: z.string().min(1).nullish(),
});

/**
 * Creates POST /compatible-mode/v1/responses/compact: replaces the items of a history by one item with a summary
 * (docs/wire/openai-compatible.md#responses-compact), except messages of users, systems and developers, and items that
 * no model reads. Nothing is stored.
 */
export function createCompactEndpoint({ catalogue, strict = false, ...deps }: CompactDeps): Endpoint {
  const { responses, generate, findDocument, ids, clock } = deps;
  return {
    operation: 'responses.compact',
    method: 'POST',
    path: '/compatible-mode/v1/responses/compact',
    family: 'compatible',
    regions: INTERFACES.responses.regions,
    onDisconnect: 'cancel',
    async handle({ body }, context) {
      const { owner } = context;
      const { resolved } = await resolveBodyModel(ModelOnly, body, { catalogue, interface: 'responses' }, context);
      const { wire, unknown } = parseBody(CompactBody, body, { strict });
      const instructions = wire.instructions?.toWellFormed() ?? '';
      const given = wire.input ?? [];
      const list = typeof given === 'string' ? [{ role: 'user', content: given }] : given;
      const previous = wire.previous_response_id ?? undefined;
      const before = await responses.readHistory(owner, { previous });
      const limits = { field: 'input', max: MESSAGES_MAX } as const;
      const find = (itemIds: readonly string[]) => responses.findItems(owner, itemIds);
      const input = createItems(await resolveReferences(list, { ...limits, find }), { ...limits, ids, kinds: 'all' });
      const inputItems = input.map(parseStoredItem);
      const history = before.history.map(parseStoredItem);
      checkCallResults(inputItems, { history, field: 'input' });
      await checkFileReferences({ instructions, items: inputItems, field: 'input' }, { owner, findDocument });

      const items = [...before.history, ...input];
      const wireItems = [...history, ...inputItems];
      if (items.length === 0)
        throw createFieldError('input', 'There is nothing to compact: both input and history are empty');
      const transcript = renderTranscript(wireItems);
      const needsSummary = transcript.some(({ index }) => !isKept(wireItems[index]));
      const summary = needsSummary
        ? await summarizeTranscript(
            {
              model: wire.model,
              contextTokens: resolved.entry.contextTokens,
              entries: transcript.map(({ text }) => text),
              instructions,
            },
            { generate, on: resolved },
            context,
          ).catch((error: unknown) => {
            throw mapErrorParam(error);
          })
        : undefined;
      const compaction = summary && {
        type: 'compaction',
        id: ids.createSortableId(getItemPrefix('compaction')),
        encrypted_content: encodeSummary(summary.text),
      };
      const output = [
        ...items.filter((_, index) => isKept(wireItems[index])).map(encodeItem),
        ...(compaction ? [compaction] : []),
      ];
      const unread = inputItems.flatMap(({ type }, index) => (type === 'other' ? [`input[${index}]`] : []));
      return createJsonReply(
        {
          id: ids.createSortableId('resp_'),
          object: 'response.compaction',
          created_at: toUnixSeconds(clock.now()),
          output,
          usage: encodeUsage(summary?.usage ?? NO_USAGE),
        },
        {
          ...encodeIgnoredHeader([...unread, ...unknown]),
          ...encodeDroppedHeader(
            before.olderItems + countDroppedItems(transcript, wireItems, summary?.droppedEntries ?? 0),
          ),
        },
      );
    },
  };
}

/** Items that no summary contains stay too: a client replaces its whole history by the output. */
const isKept = (item: WireItem | undefined): boolean =>
  (item?.type === 'message' && item.role !== 'assistant') || item?.type === 'other';

/** Counts the items that neither the summary nor the output has: user messages stay, also where the summary lacks them. */
const countDroppedItems = (
  transcript: ReturnType<typeof renderTranscript>,
  items: readonly WireItem[],
  droppedEntries: number,
): number => transcript.slice(0, droppedEntries).filter(({ index }) => !isKept(items[index])).length;
