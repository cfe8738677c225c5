import { z } from 'zod';
import { PARTS_MAX } from '../../../core/limits.ts';
import { isPresent } from '../../../lib/present.ts';
import { pastPage, pastProgram, pastSearch } from '../../fields/past-work.ts';
import { listOf } from '../../list-of.ts';

// Items of work on our side, as they are given back (wire.md E6.3): what the model sees of them is a call and its result.

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
        sources: listOf(Url, { max: PARTS_MAX }).nullish(),
      })
      .refine(({ query, url }) => isPresent(query) || isPresent(url)),
  })
  .transform(({ type, status, action }) => {
    const { query, url, sources } = action;
    // A page that the official service opened is told as a search of another kind.
    const found = sources ?? (typeof url === 'string' ? [{ url }] : []);
    return work(type, {
      name: 'web_search',
      input: typeof query === 'string' ? { query } : { url: url ?? '' },
      result: pastSearch(found, failure(status)),
    });
  });

export const ExtractorCallItem = z
  .object({
    type: z.literal('web_extractor_call'),
    status: Status,
    goal: z.string().nullish(),
    urls: listOf(z.string(), { max: PARTS_MAX }).nullish(),
    output: z.string().nullish(),
  })
  .transform(({ type, status, goal, urls, output }) =>
    work(type, {
      name: 'web_extractor',
      input: { urls: urls ?? [], goal: goal ?? '' },
      result: pastPage({ passage: output ?? '' }, failure(status)),
    }),
  );

const Output = z.object({ type: z.string().nullish(), logs: z.string().nullish(), url: z.string().nullish() });

export const CodeCallItem = z
  .object({
    type: z.literal('code_interpreter_call'),
    status: Status,
    code: z.string().nullish(),
    outputs: listOf(Output, { max: PARTS_MAX }).nullish(),
  })
  .transform(({ type, status, code, outputs }) => {
    const said = (outputs ?? []).map(({ logs, url }) => logs ?? (typeof url === 'string' ? 'An image was drawn.' : ''));
    return work(type, {
      name: 'code_interpreter',
      input: { code: code ?? '' },
      result: pastProgram(said, said.length > 0 ? undefined : failure(status)),
    });
  });

interface Work {
  readonly name: string;
  readonly input: object;
  readonly result: string;
}

const work = <Type extends string>(of: Type, { name, input, result }: Work) => ({
  type: 'server_call' as const,
  of,
  name,
  arguments: JSON.stringify(input).toWellFormed(),
  result: result.toWellFormed(),
});

const failure = (status: string | null | undefined): string | undefined => (status === 'failed' ? '' : undefined);
