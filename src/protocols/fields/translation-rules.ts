import type { RequestContext } from '../../core/context.ts';
import type { ModelEntry } from '../../catalogue/model.ts';
import { INTERFACES } from '../interfaces.ts';
import { createFieldError } from '../parse.ts';
import type { ChatFields } from './parameter-schema.ts';
import type { FieldPathMapper } from './field-path-mapper.ts';
import { checkRegion } from './region-rule.ts';

/** Tells whether a model translates its input, on every path. */
export const isTranslationModel = ({ interfaces }: Pick<ModelEntry, 'interfaces'>): boolean =>
  interfaces.includes('translation');

/**
 * Checks a translation request: exactly one user message and one choice
 * (docs/wire/dashscope-native.md#translation-rules). The interface has no path of its own, so its regions are checked
 * here.
 *
 * @throws ServiceError `forbidden` in another region, `invalid-request` naming the field.
 */
export function checkTranslation({ messages, n }: ChatFields, context: RequestContext, toPath: FieldPathMapper): void {
  checkRegion(INTERFACES.translation, context);
  const [message] = messages;
  if (messages.length !== 1 || message?.role !== 'user')
    throw createFieldError(
      toPath('messages'),
      'A translation model takes exactly one message, of role user: no system message, no earlier turns',
    );
  if (n && n > 1) throw createFieldError(toPath('n'), 'Range of n should be [1, 1] for a translation model', n);
}
