import type { BackgroundResponses } from '../../../resources/responses/background.ts';
import type { Responses } from '../../../resources/responses/response.ts';
import type { CountPrompt } from '../../../generation/count-prompt.ts';
import type { Endpoint } from '../../endpoint.ts';
import { responseCreate } from './endpoint.ts';
import type { ResponseCreateNeeds } from './endpoint.ts';
import { inputTokens } from './input-tokens.ts';
import { withOldPath } from './old-path.ts';
import { storedResponses } from './stored-endpoints.ts';

export interface ResponsesEndpointNeeds extends ResponseCreateNeeds {
  readonly responses: Responses;
  readonly background: Pick<BackgroundResponses, 'look' | 'enqueue' | 'tail' | 'cancel'>;
  readonly countPrompt: CountPrompt;
}

/** wire.md E6.2, on both of its paths. */
export const responseEndpoints = (needs: ResponsesEndpointNeeds): readonly Endpoint[] =>
  withOldPath([responseCreate(needs), inputTokens(needs), ...storedResponses(needs)]);
