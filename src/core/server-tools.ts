import type { Tenant } from './context.ts';
/**
 * Tools that Parley runs while the model answers: web search, reading pages, and a code interpreter. A request says
 * which are allowed; the stream reports the calls that really happened.
 */
export interface ServerToolOptions {
  readonly search?: SearchToolOptions;
  /** The model may read pages that a search found or that the caller's messages name. */
  readonly pages?: PageToolOptions;
  readonly code?: CodeToolOptions;
}

/**
 * `turbo`: the model decides whether to search, with one query. `max`: several queries to all providers. `agent`:
 * rounds of search until the results suffice. `agent-max`: rounds that also read pages.
 */
export const SEARCH_STRATEGIES = ['turbo', 'max', 'agent', 'agent-max'] as const;

export type SearchStrategy = (typeof SEARCH_STRATEGIES)[number];

export interface SearchToolOptions {
  readonly strategy: SearchStrategy;
  /** Requires at least one search; otherwise the model decides. */
  readonly isForced: boolean;
  /** Also queries the domain-specific providers (weather, stocks, a company's internal data). */
  readonly usesDomainProviders: boolean;
  /**
   * How the answer cites its sources. `attached`: beside the text, without marks. Otherwise: marks in the text. Absent:
   * none.
   */
  readonly citations?: CitationStyle;
  /** Maximum age of results, in days. */
  readonly freshnessDays?: number;
  /** Host names; subdomains are included. Present: results come from these hosts only. */
  readonly sites?: readonly string[];
  /** Host names whose results are excluded, subdomains included. */
  readonly blockedSites?: readonly string[];
  readonly usesMax?: number;
  /** The caller's text on when and for what to search. */
  readonly hint?: string;
}

export interface PageToolOptions {
  readonly usesMax?: number;
  /** Host names; subdomains are included. Present: only pages of these hosts are read. */
  readonly sites?: readonly string[];
  /** Host names whose pages are never read, subdomains included. */
  readonly blockedSites?: readonly string[];
}

/** `number`: `[1]`. `ref-number`: `[ref_1]`. */
export type CitationStyle = 'number' | 'ref-number' | 'attached';

export interface CodeToolOptions {
  /** Ids of the caller's files that a program may read. */
  readonly fileIds: readonly string[];
  /** Container of an earlier answer. Its variables and files are still there if it is alive. */
  readonly containerId?: string;
  readonly usesMax?: number;
}

/** A source that an answer may cite. Texts are never null and never contain a local path. */
export interface Source {
  /** From 1, unique in an answer. */
  readonly index: number;
  readonly title: string;
  /** An http(s) URL, or `parley-index:` for a document of the local index without a URL. */
  readonly url: string;
  /** Empty when unknown. */
  readonly siteName: string;
  /** A URL, or empty. */
  readonly icon: string;
  /** UTC milliseconds. */
  readonly publishedAt?: number;
  /** Plain text that was really fetched from the source. */
  readonly passage: string;
  /** The passage comes from the local index. Absent: from a search provider or from the page itself. */
  readonly isOwn?: true;
}

/** Text of a domain-specific provider, e.g. `{ domain: 'stock', text: '…' }`. */
export interface DomainResult {
  readonly domain: string;
  readonly text: string;
}

export type ServerCall =
  | { readonly type: 'search'; readonly query: string }
  | { readonly type: 'page'; readonly url: string; readonly goal: string }
  | { readonly type: 'code'; readonly code: string; readonly containerId: string };

/** A failed call, with a message for the caller. The answer continues without the call's result. */
export interface ServerCallFailure {
  readonly code: 'unavailable' | 'too-many-uses' | 'invalid-input' | 'not-allowed' | 'not-found' | 'too-long';
  readonly message: string;
}

export type ServerCallResult =
  | {
      readonly type: 'search';
      readonly sources: readonly Source[];
      readonly findings: readonly DomainResult[];
      readonly failure?: ServerCallFailure;
    }
  | { readonly type: 'page'; readonly source?: Source; readonly failure?: ServerCallFailure }
  | { readonly type: 'code'; readonly output?: CodeOutput; readonly failure?: ServerCallFailure };

/** Result of running one program. */
export interface CodeOutput {
  /** UTF-8 text. Both streams are truncated at CODE_OUTPUT_BYTES_MAX. */
  readonly stdout: string;
  readonly stderr: string;
  /** `repr` of the last statement, if it is an expression and not None. */
  readonly value?: string;
  /** Why the program did not complete. */
  readonly error?: CodeError;
  /** Files that the program wrote, and plots as PNG. */
  readonly files: readonly CodeFile[];
  /** Some of the output was truncated. */
  readonly isTruncated: boolean;
}

export interface CodeError {
  /** `exception`: raised by the program. The other types: a limit ended the program and its container. */
  readonly type: 'exception' | 'time' | 'memory' | 'output' | 'lost';
  /** For example `ZeroDivisionError: division by zero`. An exception includes the traceback within the program. */
  readonly message: string;
}

export interface CodeFile {
  /** File name without folders. */
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: Uint8Array;
  /** Location of the file that is stored for the caller. Absent: it is not stored. */
  readonly stored?: { readonly fileId: string; readonly url: string };
}

/** A sentence of the answer and a source that supports it. Both texts were compared. */
export interface Citation {
  readonly source: Source;
  /** The most similar sentence of the source's passage. */
  readonly citedText: string;
  /** Range of the citing sentence in the block's text, in code points. */
  readonly start: number;
  readonly end: number;
}

/** Numbers of server tool calls that were really made for an answer. */
export interface ServerToolUsage {
  readonly searches: number;
  /** The strategy that was applied. Absent: no search was made. */
  readonly strategy?: SearchStrategy;
  readonly pages: number;
  readonly programs: number;
}

/** A query to the search providers. */
export interface SearchQuery {
  readonly text: string;
  /** The user's own words, if a model wrote the text. The local index uses both: a small model loses words. */
  readonly question?: string;
  /** Workspace, and its region, whose documents may be found besides the public ones. */
  readonly tenant: Tenant;
  /** `first`: results of the first provider that finds any. `all`: merged results of all providers. */
  readonly breadth: 'first' | 'all';
  readonly resultsMax: number;
  readonly usesDomainProviders: boolean;
  readonly freshnessDays?: number;
  readonly sites?: readonly string[];
  readonly blockedSites?: readonly string[];
}

export interface SearchResults {
  /** Best first, each page once. */
  readonly results: readonly Omit<Source, 'index'>[];
  readonly findings: readonly DomainResult[];
}

/**
 * Queries all configured providers. Failures of single providers are logged.
 *
 * @throws ServiceError `upstream-failed` when every provider failed; the signal's reason.
 */
export type Search = (query: SearchQuery, signal: AbortSignal) => Promise<SearchResults>;

/**
 * Returns whether a search can find anything: false while no provider is configured but an index without documents.
 *
 * @param tenant Workspace and region whose documents count besides the public ones. Absent: the documents of all.
 */
export type HasSearchContent = (tenant?: Tenant) => Promise<boolean>;

/**
 * Fetches a page, if its site's robots.txt allows it, and extracts readable text.
 *
 * @throws ServiceError `invalid-request` for a URL that must not be fetched, `forbidden` when robots.txt disallows it,
 * `upstream-failed`, `timeout`, `too-large`, `not-found`; the signal's reason.
 */
export type ReadPage = (
  page: {
    readonly url: string;
    readonly tenant: Tenant;
    /** Hosts as in PageToolOptions. They also apply to redirects. */
    readonly sites?: readonly string[];
    readonly blockedSites?: readonly string[];
  },
  signal: AbortSignal,
) => Promise<Omit<Source, 'index'>>;

/** Runs the programs of one conversation, one at a time. Variables and files persist between programs. */
export interface CodeContainer {
  readonly id: string;
  /**
   * Runs a program. Resolves also when the program fails.
   * @throws ServiceError `overloaded`; the signal's reason, after which the container is gone.
   */
  run(code: string, signal: AbortSignal): Promise<CodeOutput>;
  /** Ends the caller's use. The container stays alive for CODE_CONTAINER_IDLE_MS, to be opened again by its `id`. */
  release(): void;
}

export interface CodeInterpreter {
  /**
   * Opens a container of the workspace in its region: the one with `containerId` if it is alive, else a new one.
   *
   * @throws ServiceError `unsupported` when the interpreter is off (with the reason), `overloaded` when all containers, or
   * those of the workspace's share, are used.
   */
  open(
    request: {
      readonly tenant: Tenant;
      readonly containerId?: string | undefined;
      /** Copied into the working folder, read-only. */
      readonly files: readonly { readonly name: string; readonly path: string }[];
    },
    signal: AbortSignal,
  ): Promise<CodeContainer>;
}
