import type { BackgroundResponses } from '../../../resources/responses/background.ts';
import type { Responses } from '../../../resources/responses/response.ts';
import type { Generate } from '../../../generation/generation.ts';
import type { CountPrompt } from '../../../generation/count-prompt.ts';
import type { Endpoint } from '../../endpoint.ts';
import { createCompactEndpoint } from './compact.ts';
import { createResponseEndpoint, type CreateResponseDeps } from './endpoint.ts';
import { createInputTokensEndpoint } from './input-tokens.ts';
import { addDeprecatedPaths } from './deprecated-path.ts';
import { createStoredResponseEndpoints } from './stored-endpoints.ts';

export interface ResponsesEndpointDeps extends CreateResponseDeps {
  readonly responses: Responses;
  readonly background: Pick<BackgroundResponses, 'checkTurn' | 'enqueue' | 'tail' | 'cancel'>;
  readonly countPrompt: CountPrompt;
  readonly generate: Generate;
}

/** Creates the endpoints of responses on both paths (docs/wire/openai-compatible.md#responses-routes). */
export const createResponseEndpoints = (deps: ResponsesEndpointDeps): readonly Endpoint[] =>
  addDeprecatedPaths([
    createResponseEndpoint(deps),
    createInputTokensEndpoint(deps),
    createCompactEndpoint(deps),
    ...createStoredResponseEndpoints(deps),
  ]);
