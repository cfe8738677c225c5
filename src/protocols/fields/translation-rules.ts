import type { RequestContext } from '../../core/context.ts';
import type { ModelEntry } from '../../catalogue/model.ts';
import { INTERFACES } from '../interfaces.ts';
import { refuse } from '../parse.ts';
import type { ChatFields } from './parameter-schema.ts';
import type { Place } from './place.ts';
import { checkIsOffered } from './region-rule.ts';

/** A model whose answers are translations, whatever path it is asked on. */
export const translates = ({ interfaces }: Pick<ModelEntry, 'interfaces'>): boolean =>
  interfaces.includes('translation');

/**
 * wire.md E2.2: one message of the user's, of text; one translation of it. The interface has no path of its own, so its
 * regions are checked here.
 *
 * @throws ServiceError `forbidden` in another region, `invalid-request` naming the field.
 */
export function checkTranslation({ messages, n }: ChatFields, context: RequestContext, place: Place): void {
  checkIsOffered(INTERFACES.translation, context);
  const [message] = messages;
  if (messages.length !== 1 || message?.role !== 'user')
    throw refuse(
      place('messages'),
      'A translation model takes exactly one message, of role user: no system message, no earlier turns',
    );
  if (n && n > 1) throw refuse(place('n'), 'Range of n should be [1, 1] for a translation model', n);
}
