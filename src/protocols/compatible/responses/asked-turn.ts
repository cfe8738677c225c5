import { forwardedOf } from '../../../catalogue/model.ts';
import type { Catalogue, ModelEntry } from '../../../catalogue/model.ts';
import type { RequestContext } from '../../../core/context.ts';
import type { FindDocument } from '../../../core/document.ts';
import type { Ids } from '../../../core/id.ts';
import { ASKED_CHARS_MAX, MESSAGES_MAX } from '../../../core/limits.ts';
import type { Item } from '../../../core/item.ts';
import { ServiceError } from '../../../core/error.ts';
import { textOf } from '../../../core/message.ts';
import { checkMetadata } from '../../../resources/conversations/rules.ts';
import type { Responses, Turn, TurnWish } from '../../../resources/responses/response.ts';
import { isPresent } from '../../../lib/present.ts';
import { withDefaultThinking } from '../../fields/default-thinking.ts';
import { excludesThought } from '../../fields/parameter-rules.ts';
import { parse, parseBody } from '../../parse.ts';
import { furtherFields } from '../chat-completions/further-fields.ts';
import { chatFields } from './chat-fields.ts';
import { checkFiles } from '../items/check-files.ts';
import { checkResults } from '../items/check-results.ts';
import { itemsOf } from '../items/items-of.ts';
import { readItem } from '../items/read-item.ts';
import { resolveReferences } from '../items/resolve-references.ts';
import { metadataOf } from '../metadata-of.ts';
import { decode } from './decode.ts';
import type { DecodedTurn } from './decode.ts';
import { conversationId } from './head.ts';
import { ignoredFields } from './ignored-fields.ts';
import { checkImages, checkRules, checkShared } from './rules.ts';
import { ModelOnly, ResponseBody, responseTexts } from './schema.ts';
import type { ResponseWire } from './schema.ts';

export interface AskedNeeds {
  /** The one in force now: it changes while the service runs. */
  readonly catalogue: () => Pick<Catalogue, 'resolve'>;
  readonly responses: Pick<Responses, 'findItems'>;
  readonly ids: Pick<Ids, 'sortable'>;
  readonly findDocument: FindDocument;
  /** Unknown fields are 400 instead of being named in x-parley-ignored. */
  readonly strict: boolean;
}

/** A body that was checked as far as it can be without what it goes on from. */
export interface Asked {
  readonly wire: ResponseWire;
  readonly entry: ModelEntry;
  readonly wish: Omit<TurnWish, 'id'>;
  /**
   * What is said now, and how it goes on from what was said before.
   * @throws ServiceError `invalid-request` naming the field; `context-exceeded` where not all of the history was read, and
   * nothing of it may be left out.
   */
  goOn(before: Before): Promise<AskedTurn>;
}

type Before = Pick<Turn, 'history' | 'olderItems'>;

export interface AskedTurn extends DecodedTurn {
  readonly input: readonly Item[];
  /** Names for x-parley-ignored. @param unheard Of the generation. */
  ignored(unheard: readonly string[]): readonly string[];
}

/** @throws ServiceError of any kind the catalogue refuses with; `invalid-request` or `unsupported` naming the field. */
export function readAsked(
  body: unknown,
  { catalogue, responses, ids, findDocument, strict }: AskedNeeds,
  { owner, log }: RequestContext,
): Asked {
  const { model } = parse(ModelOnly, body);
  log.add({ asked: model.slice(0, ASKED_CHARS_MAX) });
  const { entry } = catalogue().resolve(model, { interface: 'responses', owner });
  const { wire: written, unknown } = parseBody(ResponseBody, body, {
    texts: () => responseTexts(entry),
    strict,
    heard: forwardedOf(entry),
  });
  const wire = entry.thinksByDefault ? withDefaultThinking(written, entry, saysHow(written)) : written;
  checkRules(wire);
  checkMetadata(metadataOf(wire.metadata, 'metadata'));
  const { input: said } = wire;
  const further = unknown.length > 0 ? furtherFields(body, unknown) : undefined;
  const wish = { conversation: conversationId(wire), previous: wire.previous_response_id ?? undefined };

  return {
    wire,
    entry,
    wish,
    async goOn({ history: kept, olderItems }) {
      if (olderItems > 0 && wire.truncation !== 'auto')
        throw tooLong({ history: kept, olderItems }, entry.contextTokens);
      const list = typeof said === 'string' ? [{ role: 'user', content: said }] : (said ?? []);
      const find = (wanted: readonly string[]) => responses.findItems(owner, wanted);
      const bounds = { at: 'input', max: MESSAGES_MAX } as const;
      const input = itemsOf(await resolveReferences(list, { ...bounds, find }), { ...bounds, ids, kinds: 'all' });
      const items = { history: kept.map(readItem), input: input.map(readItem) };
      checkResults(items.input, { history: items.history, at: 'input' });
      checkImages(items.input, entry);
      const saidNow = { instructions: wire.instructions ?? '', items: items.input, at: 'input' };
      await checkFiles(saidNow, { owner, findDocument });
      const turn = decode(wire, items, further);
      checkShared(wire, entry, () => turn.without(0).messages.map(textOf));
      const inside = unknown.filter((name) => !Object.hasOwn(further ?? {}, name));
      return { ...turn, input, ignored: (unheard) => [...ignoredFields(wire, items.input, unheard), ...inside] };
    },
  };
}

/** Of thinking, in this interface's own word; or asks for what no thought can stand beside. */
const saysHow = (wire: ResponseWire): boolean =>
  isPresent(wire.reasoning?.effort) || excludesThought(chatFields(wire).fields);

/** So many items that not all were read: nobody has counted their tokens. */
const tooLong = ({ history, olderItems }: Before, contextTokens: number): ServiceError =>
  new ServiceError(
    'context-exceeded',
    `Range of input length should be [1, ${contextTokens - 1}] (the history has ${history.length + olderItems} items, which is more than any context holds; truncation: "auto" leaves the oldest out)`,
    { param: 'input' },
  );
