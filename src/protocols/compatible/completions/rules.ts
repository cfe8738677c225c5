import { checkLogitBias, checkStop } from '../../fields/parameter-rules.ts';
import { noSearch } from '../../fields/server-tool-rules.ts';
import { refuse } from '../../parse.ts';
import { promptsOf } from './decode.ts';
import type { CompletionWire } from './schema.ts';

/**
 * Rules that no single field can tell.
 *
 * @throws ServiceError `invalid-request` naming the field.
 */
export function checkRules(wire: CompletionWire): void {
  if (wire.enable_search === true) throw refuse('enable_search', noSearch('enable_search'), true);
  checkStop(wire.stop, 'stop');
  checkLogitBias(wire.logit_bias, 'logit_bias');
  const { n, best_of: bestOf } = wire;
  if (bestOf && bestOf !== 1 && bestOf !== (n ?? 1)) throw refuse('best_of', 'best_of must be 1 or equal to n', bestOf);
  if (bestOf === 1 && (n ?? 1) > 1) throw refuse('best_of', 'best_of must not be smaller than n', bestOf);
  const isOfTokens = promptsOf(wire.prompt).some(({ prompt }) => typeof prompt !== 'string');
  if (isOfTokens && wire.suffix) throw refuse('suffix', 'suffix needs a prompt of text');
  if (isOfTokens && wire.echo === true) throw refuse('echo', 'echo needs a prompt of text', true);
}
