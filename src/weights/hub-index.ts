import { z } from 'zod';
import { ServiceError } from '../core/error.ts';
import { omitNullish } from '../lib/omit-nullish.ts';
import {
  HUB_ANSWER_CHARS_MAX,
  HUB_ANSWER_MS,
  HUB_CONNECT_MS,
  HUB_LIST_PAGES_MAX,
  HUB_SEARCH_HITS_MAX,
} from './limits.ts';
import type { Fetch } from './pull-limits.ts';
import { readTextUpTo } from './read-body-text.ts';
import { requestHubFile } from './request-hub-file.ts';

/** A file of a repository, by its path in it. */
export interface RepositoryFile {
  readonly path: string;
  readonly sizeBytes: number;
  /** Absent for small files, and where only the folder is known. */
  readonly sha256?: string;
}

export interface Repository {
  /** `owner/name`. */
  readonly name: string;
  /** Commit of the files; `main` for a folder. */
  readonly revision: string;
  readonly licence?: string;
  readonly files: readonly RepositoryFile[];
}

/** A repository that a search found. */
export interface RepositoryHit {
  readonly name: string;
  readonly downloads?: number;
  readonly licence?: string;
}

/** The hub's list of repositories and their files. */
export interface HubIndex {
  /** @throws ServiceError `not-found` for an unknown or private repository; `upstream-failed`. */
  readRepository(name: string, revision?: string): Promise<Repository>;
  /** Returns the most popular repositories with GGUF files that match all words. @throws ServiceError `upstream-failed`. */
  search(words: string): Promise<readonly RepositoryHit[]>;
}

interface HubIndexOptions {
  /** Base URL of the hub or its mirror. Undefined: the hub is not used. */
  readonly hubUrl: string | undefined;
  readonly fetch: Fetch;
  readonly connectMs?: number;
  /** Time for a whole answer. */
  readonly answerMs?: number;
}

const Revision = z.object({ sha: z.string().regex(/^[0-9a-f]{40}$/), tags: z.array(z.string()).catch([]) });

const size = z.int().min(0);

const Tree = z.array(
  z.object({
    type: z.string(),
    path: z.string(),
    size,
    lfs: z
      .object({ oid: z.string().regex(/^[0-9a-f]{64}$/), size })
      .nullish()
      .catch(undefined),
  }),
);

const Hits = z.array(
  z.object({ id: z.string(), downloads: z.number().nullish().catch(undefined), tags: z.array(z.string()).catch([]) }),
);

/** Creates the index of a hub that speaks Hugging Face's API. */
export function createHubIndex({
  hubUrl,
  fetch,
  connectMs = HUB_CONNECT_MS,
  answerMs = HUB_ANSWER_MS,
}: HubIndexOptions): HubIndex {
  const request = async <Schema extends z.ZodType>(path: string, schema: Schema) => {
    if (hubUrl === undefined) throw new ServiceError('upstream-failed', 'The hub is switched off (hubUrl: off).');
    const url = new URL(path, `${hubUrl.replace(/\/+$/, '')}/`);
    const { response, text } = await readAnswer(url);
    const parsed = schema.safeParse(parseJson(text));
    if (parsed.success) return { value: parsed.data, next: findNextPage(response, url) };
    throw new ServiceError('upstream-failed', `The answer of the hub for ${url.href} has an unexpected form.`);
  };

  const readAnswer = async (url: URL): Promise<{ readonly response: Response; readonly text: string }> => {
    const signal = AbortSignal.timeout(answerMs);
    try {
      const { response } = await requestHubFile(url.href, { accept: 'application/json' }, { fetch, signal, connectMs });
      if (!response.ok) {
        await response.body?.cancel();
        throw createStatusError(response.status, url);
      }
      return { response, text: await readTextUpTo(response, HUB_ANSWER_CHARS_MAX) };
    } catch (thrown) {
      if (!signal.aborted) throw thrown;
      const message = `The hub did not send its answer to ${url.href} within ${answerMs / 1000} s.`;
      throw new ServiceError('upstream-failed', message, { cause: thrown });
    }
  };

  return {
    async readRepository(name, revision = 'main') {
      const api = `api/models/${name}`;
      const { value: commit } = await request(`${api}/revision/${encodeURIComponent(revision)}`, Revision);
      const files: RepositoryFile[] = [];
      let path: string | undefined = `${api}/tree/${commit.sha}?recursive=true`;
      for (let pages = 0; path !== undefined; pages++) {
        if (pages >= HUB_LIST_PAGES_MAX)
          throw new ServiceError('upstream-failed', `${name} has too many files: name one, ${name}/FILE.gguf.`);
        const page: { value: z.output<typeof Tree>; next: string | undefined } = await request(path, Tree);
        for (const { type, path: file, size, lfs } of page.value)
          if (type === 'file' && isPlainPath(file))
            files.push({ path: file, sizeBytes: lfs?.size ?? size, ...omitNullish({ sha256: lfs?.oid }) });
        path = page.next;
      }
      return { name, revision: commit.sha, files, ...omitNullish({ licence: findLicence(commit.tags) }) };
    },

    async search(words) {
      const query = new URLSearchParams({
        search: words,
        filter: 'gguf',
        sort: 'downloads',
        direction: '-1',
        limit: String(HUB_SEARCH_HITS_MAX),
      });
      const { value } = await request(`api/models?${query.toString()}`, Hits);
      return value
        .filter(({ id }) => isPlainPath(id))
        .map(({ id, downloads, tags }) => ({ name: id, ...omitNullish({ downloads, licence: findLicence(tags) }) }));
    },
  };
}

/** Returns the next page of a list, which must be on the same server. */
function findNextPage(response: Response, url: URL): string | undefined {
  const next = /<([^>]+)>;\s*rel="next"/.exec(response.headers.get('link') ?? '')?.[1];
  if (next === undefined || !URL.canParse(next, url.href)) return undefined;
  const nextUrl = new URL(next, url);
  return nextUrl.origin === url.origin ? nextUrl.href : undefined;
}

function findLicence(tags: readonly string[]): string | undefined {
  const licence = tags.find((tag) => tag.startsWith('license:'))?.slice('license:'.length);
  return licence !== undefined && isPrintable(licence) ? licence : undefined;
}

/** Whether a text has no characters that control a terminal or the direction of text: commands print what the hub says. */
const isPrintable = (text: string): boolean => !/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u.test(text);

/** Whether a path stays within its repository, and can be printed. */
const isPlainPath = (path: string): boolean =>
  isPrintable(path) && path.split('/').every((part) => part !== '' && part !== '.' && part !== '..');

/** The hub also answers 401 for a repository that does not exist. */
const createStatusError = (status: number, url: URL): ServiceError =>
  [401, 403, 404].includes(status)
    ? new ServiceError(
        'not-found',
        `The hub has no such public repository or revision: it answers ${status} to ${url.href}.`,
      )
    : new ServiceError('upstream-failed', `The hub answers ${status} to ${url.href}.`);

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
