import type { ServerTools } from '../../core/server-tools.ts';
import type { ChatFields } from './parameter-schema.ts';
import { decodeSearch } from './search-options.ts';
import type { SourcesPlace } from './search-options.ts';

/** What `enable_search` and `enable_code_interpreter` ask for; undefined: nothing. */
export function decodeServerTools(
  { enable_search: searches, search_options: options, enable_code_interpreter: computes }: ChatFields,
  interfaceOf: Pick<SourcesPlace, 'tellsSources'>,
): ServerTools | undefined {
  const search = searches === true ? decodeSearch(options ?? {}, interfaceOf) : undefined;
  if (!search && computes !== true) return undefined;
  return {
    ...(search ? { search } : {}),
    ...(search?.strategy === 'agent-max' ? { pages: {} } : {}),
    ...(computes === true ? { code: { fileIds: [] } } : {}),
  };
}
