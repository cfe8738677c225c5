import type { Endpoint } from '../../endpoint.ts';
import { OLD_RESPONSES } from '../../interfaces.ts';

const RESPONSES = '/compatible-mode/v1/responses';

/**
 * Unix seconds of 2026-01-01, ours: the specification says that the path is on its way out and gives no date.
 */
const DEPRECATED_SINCE = 1_767_225_600;

/** Every endpoint of the responses interface, and the same on its earlier path. */
export const withOldPath = (endpoints: readonly Endpoint[]): readonly Endpoint[] =>
  endpoints.flatMap((endpoint) => [
    endpoint,
    {
      ...endpoint,
      path: endpoint.path.replace(RESPONSES, OLD_RESPONSES),
      deprecated: { since: DEPRECATED_SINCE, successor: (target) => target.replace(OLD_RESPONSES, RESPONSES) },
    },
  ]);
