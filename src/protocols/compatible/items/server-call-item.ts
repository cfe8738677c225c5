import { z } from 'zod';
import { PARTS_MAX } from '../../limits.ts';
import { isDefined } from '../../../lib/omit-nullish.ts';
import { renderPastPage, renderPastProgram, renderPastSearch } from '../../fields/past-tool-results.ts';
import { failFastArray } from '../../fail-fast-array.ts';

// Server tool items that clients send back. The model sees each as a call with its result
// (docs/wire/openai-compatible.md#responses-request).

const Url = z.object({ url: z.string().nullish() });
const Status = z.string().nullish();

export const SearchCallItem = z
  .object({
    type: z.literal('web_search_call'),
    status: Status,
    action: z
      .object({
        query: z.string().nullish(),
        url: z.string().nullish(),
        sources: failFastArray(Url, { max: PARTS_MAX }).nullish(),
      })
      .refine(({ query, url }) => isDefined(query) || isDefined(url)),
  })
  .transform(({ type, status, action }) => {
    const { query, url, sources } = action;
    // The official service reports an opened page as a search call with a URL instead of a query.
    const sourcesOrPage = sources ?? (typeof url === 'string' ? [{ url }] : []);
    return createServerCall(type, {
      name: 'web_search',
      input: typeof query === 'string' ? { query } : { url: url ?? '' },
      result: renderPastSearch(sourcesOrPage, statusToFailure(status)),
    });
  });

export const ExtractorCallItem = z
  .object({
    type: z.literal('web_extractor_call'),
    status: Status,
    goal: z.string().nullish(),
    urls: failFastArray(z.string(), { max: PARTS_MAX }).nullish(),
    output: z.string().nullish(),
  })
  .transform(({ type, status, goal, urls, output }) =>
    createServerCall(type, {
      name: 'web_extractor',
      input: { urls: urls ?? [], goal: goal ?? '' },
      result: renderPastPage({ passage: output ?? '' }, statusToFailure(status)),
    }),
  );

const Output = z.object({ type: z.string().nullish(), logs: z.string().nullish(), url: z.string().nullish() });

export const CodeCallItem = z
  .object({
    type: z.literal('code_interpreter_call'),
    status: Status,
    code: z.string().nullish(),
    outputs: failFastArray(Output, { max: PARTS_MAX }).nullish(),
  })
  .transform(({ type, status, code, outputs }) => {
    const texts = (outputs ?? []).map(
      ({ logs, url }) => logs ?? (typeof url === 'string' ? 'An image was drawn.' : ''),
    );
    return createServerCall(type, {
      name: 'code_interpreter',
      input: { code: code ?? '' },
      result: renderPastProgram(texts, texts.length > 0 ? undefined : statusToFailure(status)),
    });
  });

interface CallAndResult {
  readonly name: string;
  readonly input: object;
  readonly result: string;
}

const createServerCall = <Type extends string>(wireType: Type, { name, input, result }: CallAndResult) => ({
  type: 'server_call' as const,
  wireType,
  name,
  arguments: JSON.stringify(input).toWellFormed(),
  result: result.toWellFormed(),
});

const statusToFailure = (status: string | null | undefined): string | undefined =>
  status === 'failed' ? '' : undefined;
