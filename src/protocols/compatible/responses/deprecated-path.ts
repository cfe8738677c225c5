import type { Endpoint } from '../../endpoint.ts';
import { DEPRECATED_RESPONSES_PATH } from '../../interfaces.ts';

const RESPONSES_PATH = '/compatible-mode/v1/responses';

/** Unix seconds of 2026-01-01, chosen by Parley: the documentation calls the path deprecated without a date. */
const DEPRECATED_SINCE = 1_767_225_600;

/** Returns all endpoints of the responses interface, each also on its deprecated path. */
export const addDeprecatedPaths = (endpoints: readonly Endpoint[]): readonly Endpoint[] =>
  endpoints.flatMap((endpoint) => [
    endpoint,
    {
      ...endpoint,
      path: endpoint.path.replace(RESPONSES_PATH, DEPRECATED_RESPONSES_PATH),
      deprecated: {
        since: DEPRECATED_SINCE,
        successor: (target) => target.replace(DEPRECATED_RESPONSES_PATH, RESPONSES_PATH),
      },
    },
  ]);
