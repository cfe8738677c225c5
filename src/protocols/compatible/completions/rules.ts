import type { ModelEntry } from '../../../catalogue/model.ts';
import { checkLogitBias, checkStop } from '../../fields/parameter-rules.ts';
import { formatMaxTokensRange } from '../../fields/parameter-texts.ts';
import { formatUnsupportedField } from '../../fields/server-tool-rules.ts';
import { createFieldError } from '../../parse.ts';
import { listPrompts } from './decode.ts';
import type { CompletionWire } from './schema.ts';

/**
 * Checks rules that involve several fields.
 *
 * @throws ServiceError `invalid-request` naming the field.
 */
export function checkCompletionRules(wire: CompletionWire, entry: Pick<ModelEntry, 'contextTokens'>): void {
  if (wire.enable_search === true)
    throw createFieldError('enable_search', formatUnsupportedField('enable_search'), true);
  if (wire.max_tokens === 0 && wire.echo !== true) throw createFieldError('max_tokens', formatMaxTokensRange(entry), 0);
  checkStop(wire.stop, 'stop');
  checkLogitBias(wire.logit_bias, 'logit_bias');
  const { n, best_of: bestOf } = wire;
  if (bestOf && bestOf !== 1 && bestOf !== (n ?? 1))
    throw createFieldError('best_of', 'best_of must be 1 or equal to n', bestOf);
  if (bestOf === 1 && (n ?? 1) > 1) throw createFieldError('best_of', 'best_of must not be smaller than n', bestOf);
  const isOfTokens = listPrompts(wire.prompt).some(({ prompt }) => typeof prompt !== 'string');
  if (isOfTokens && wire.suffix) throw createFieldError('suffix', 'suffix requires a text prompt');
  if (wire.suffix && wire.echo === true && typeof wire.logprobs === 'number')
    throw createFieldError('echo', 'echo with logprobs requires a prompt without suffix', true);
  // The text of token ids comes with their log probabilities.
  if (isOfTokens && wire.echo === true && typeof wire.logprobs !== 'number')
    throw createFieldError('echo', 'echo requires a text prompt, or logprobs', true);
}
