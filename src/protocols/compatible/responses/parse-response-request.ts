import { getForwardedFields, type ResolvedModel } from '../../../catalogue/model.ts';
import type { RequestContext } from '../../../core/context.ts';
import type { FindDocument } from '../../../core/document.ts';
import type { IdGenerator } from '../../../core/id.ts';
import { ITEMS_PER_STEP, MESSAGES_MAX } from '../../limits.ts';
import type { Item } from '../../../core/item.ts';
import { ServiceError } from '../../../core/error.ts';
import { getMessageText } from '../../../core/message.ts';
import { checkMetadata } from '../../../resources/conversations/rules.ts';
import type { Responses, Turn, TurnRequest } from '../../../resources/responses/response.ts';
import { mapInSteps } from '../../../lib/map-in-steps.ts';
import { isDefined } from '../../../lib/omit-nullish.ts';
import { applyDefaultThinking } from '../../fields/default-thinking.ts';
import { excludesThinking } from '../../fields/parameter-rules.ts';
import { parseBody } from '../../parse.ts';
import { resolveBodyModel, type ModelEndpointDeps } from '../../resolve-model.ts';
import { pickExtraFields } from '../chat-completions/extra-fields.ts';
import { toChatFields } from './chat-fields.ts';
import { checkFileReferences } from '../items/check-file-references.ts';
import { checkCallResults } from '../items/check-call-results.ts';
import { createItemsInSteps } from '../items/create-items.ts';
import { parseStoredItem } from '../items/stored-item.ts';
import { resolveReferences } from '../items/resolve-references.ts';
import { decodeMetadata } from '../metadata.ts';
import { decodeResponseTurn, type DecodedTurn } from './decode.ts';
import { getConversationId } from './head.ts';
import { listIgnoredResponseFields } from './ignored-fields.ts';
import { checkImages, checkResponseRules, checkSharedRules } from './rules.ts';
import { ModelOnly, ResponseBody, createResponseTexts, type ResponseWire } from './schema.ts';

export interface ResponseRequestDeps extends Pick<ModelEndpointDeps, 'catalogue'> {
  readonly responses: Pick<Responses, 'findItems'>;
  readonly ids: Pick<IdGenerator, 'createSortableId'>;
  readonly findDocument: FindDocument;
  /** Rejects unknown fields with 400 instead of naming them in x-parley-ignored. */
  readonly strict: boolean;
}

/** A request that was checked as far as possible without its history. */
export interface ParsedResponseRequest {
  readonly wire: ResponseWire;
  readonly resolved: ResolvedModel;
  readonly turnRequest: Omit<TurnRequest, 'id'>;
  /**
   * Decodes the new input together with the history.
   * @throws ServiceError `invalid-request` naming the field; `context-exceeded` if the history was not read completely
   * and `truncation` does not allow dropping any of it.
   */
  prepareTurn(before: TurnHistory): Promise<PreparedTurn>;
}

type TurnHistory = Pick<Turn, 'history' | 'olderItems'>;

export interface PreparedTurn extends DecodedTurn {
  readonly input: readonly Item[];
  /** Returns the field names for x-parley-ignored. @param ignoredByModel Names that generation ignored. */
  listIgnored(ignoredByModel: readonly string[]): readonly string[];
}

/**
 * Parses a request for a response.
 * @throws ServiceError of the catalogue; `invalid-request` or `unsupported` naming the field.
 */
export async function parseResponseRequest(
  body: unknown,
  { catalogue, responses, ids, findDocument, strict }: ResponseRequestDeps,
  context: RequestContext,
): Promise<ParsedResponseRequest> {
  const { owner } = context;
  const { resolved } = await resolveBodyModel(ModelOnly, body, { catalogue, interface: 'responses' }, context);
  const { entry } = resolved;
  const { wire: parsedFields, unknown } = parseBody(ResponseBody, body, {
    texts: () => createResponseTexts(entry),
    strict,
    allowedExtraFields: getForwardedFields(entry),
  });
  const wire = entry.thinksByDefault
    ? applyDefaultThinking(parsedFields, entry, choosesThinking(parsedFields))
    : parsedFields;
  checkResponseRules(wire);
  checkMetadata(decodeMetadata(wire.metadata, 'metadata'));
  const { input: inputField } = wire;
  const extraFields = unknown.length > 0 ? pickExtraFields(body, unknown) : undefined;
  const turnRequest = { conversation: getConversationId(wire), previous: wire.previous_response_id ?? undefined };

  return {
    wire,
    resolved,
    turnRequest,
    async prepareTurn({ history: earlierItems, olderItems }) {
      if (olderItems > 0 && wire.truncation !== 'auto')
        throw createHistoryTooLongError({ history: earlierItems, olderItems }, entry.contextTokens);
      const list = typeof inputField === 'string' ? [{ role: 'user', content: inputField }] : (inputField ?? []);
      const find = (itemIds: readonly string[]) => responses.findItems(owner, itemIds);
      const listLimits = { field: 'input', max: MESSAGES_MAX } as const;
      const input = await createItemsInSteps(await resolveReferences(list, { ...listLimits, find }), {
        ...listLimits,
        ids,
        kinds: 'all',
      });
      const items = {
        history: await mapInSteps(earlierItems, ITEMS_PER_STEP, parseStoredItem),
        input: await mapInSteps(input, ITEMS_PER_STEP, parseStoredItem),
      };
      checkCallResults(items.input, { history: items.history, field: 'input' });
      checkImages(items.input, entry);
      const newContent = { instructions: wire.instructions ?? '', items: items.input, field: 'input' };
      await checkFileReferences(newContent, { owner, findDocument });
      const turn = decodeResponseTurn(wire, items, extraFields);
      checkSharedRules(wire, entry, () => turn.withoutOldestTurns(0).messages.map(getMessageText));
      const ignoredNested = unknown.filter((name) => !Object.hasOwn(extraFields ?? {}, name));
      return {
        ...turn,
        input,
        listIgnored: (ignoredByModel) => [
          ...listIgnoredResponseFields(wire, items.input, ignoredByModel),
          ...ignoredNested,
        ],
      };
    },
  };
}

/** Tells whether the request sets an effort or uses a feature that excludes thinking, so that no default applies. */
const choosesThinking = (wire: ResponseWire): boolean =>
  isDefined(wire.reasoning?.effort) || excludesThinking(toChatFields(wire).fields);

/** Creates the error for a history that was read only partly, so that its tokens cannot be counted. */
const createHistoryTooLongError = ({ history, olderItems }: TurnHistory, contextTokens: number): ServiceError =>
  new ServiceError(
    'context-exceeded',
    `Range of input length should be [1, ${contextTokens - 1}] (the history has ${history.length + olderItems} items, more than any context holds; set truncation to "auto" to drop the oldest)`,
    { param: 'input' },
  );
