import type { Ids } from '../../../core/id.ts';
import type { CountPrompt } from '../../../generation/count-prompt.ts';
import type { Responses } from '../../../resources/responses/response.ts';
import { json } from '../../endpoint.ts';
import type { Endpoint } from '../../endpoint.ts';
import { ignoredHeader } from '../../ignored.ts';
import { INTERFACES } from '../../interfaces.ts';
import { readAsked } from './asked-turn.ts';
import type { AskedNeeds } from './asked-turn.ts';
import { droppedHeader } from './dropped-header.ts';

interface InputTokensNeeds extends Pick<AskedNeeds, 'catalogue' | 'findDocument'> {
  readonly responses: Pick<Responses, 'history' | 'findItems'>;
  readonly countPrompt: CountPrompt;
  readonly ids: Pick<Ids, 'sortable'>;
  readonly strict?: boolean;
}

/** POST /compatible-mode/v1/responses/input_tokens (wire.md E6.2): what the same request would be charged for, history included: all of it, whatever `truncation` would leave out. */
export function inputTokens({ countPrompt, strict = false, ...needs }: InputTokensNeeds): Endpoint {
  return {
    operation: 'responses.input-tokens',
    method: 'POST',
    path: '/compatible-mode/v1/responses/input_tokens',
    family: 'compatible',
    regions: INTERFACES.responses.regions,
    onDisconnect: 'cancel',
    async handle({ body }, context) {
      const asked = readAsked(body, { ...needs, strict }, context);
      const before = await needs.responses.history(context.owner, asked.wish);
      const { without, ignored } = await asked.goOn(before);
      const { tokens, ignored: unheard } = await countPrompt(without(0), { interface: 'responses' }, context);
      const headers = { ...ignoredHeader(ignored(unheard)), ...droppedHeader(before.olderItems) };
      return json({ object: 'response.input_tokens', input_tokens: tokens }, headers);
    },
  };
}
