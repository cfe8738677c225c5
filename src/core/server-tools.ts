/**
 * What a model may use on our side while it answers: web search, pages and a code interpreter (in the field's words: server tools).
 * A request says what of it is wished; the stream says what was really done.
 */
export interface ServerTools {
  readonly search?: SearchWish;
  /** The model may read pages that a search found or that the caller's own messages name. */
  readonly pages?: PagesWish;
  readonly code?: CodeWish;
}

/**
 * `turbo`: the model decides whether, and one query is asked. `max`: several queries, of all providers. `agent`: rounds of search
 * until there is enough. `agent-max`: rounds that also read pages.
 */
export const SEARCH_STRATEGIES = ['turbo', 'max', 'agent', 'agent-max'] as const;

export type SearchStrategy = (typeof SEARCH_STRATEGIES)[number];

export interface SearchWish {
  readonly strategy: SearchStrategy;
  /** At least one search; otherwise the model decides. */
  readonly isForced: boolean;
  /** Providers of a domain (weather, stocks, a company's own) are asked too. */
  readonly withDomains: boolean;
  /**
   * How the answer says what it rests on: by marks in its text, or (`attached`) by citations beside it and no marks. Absent: neither.
   */
  readonly citations?: CitationForm;
  /** Nothing older than this many days. */
  readonly freshnessDays?: number;
  /** Hosts; with their subdomains. Present: nothing from elsewhere. */
  readonly sites?: readonly string[];
  /** Hosts that nothing may come from. */
  readonly blockedSites?: readonly string[];
  readonly usesMax?: number;
  /** What the caller says about when and for what to search. */
  readonly hint?: string;
}

export interface PagesWish {
  readonly usesMax?: number;
  /** Hosts; with their subdomains. Present: no page of another is read. */
  readonly sites?: readonly string[];
  /** Hosts of which no page is read. */
  readonly blockedSites?: readonly string[];
}

/** `number`: `[1]`. `ref-number`: `[ref_1]`. */
export type CitationForm = 'number' | 'ref-number' | 'attached';

export interface CodeWish {
  /** Files of the caller's that a program may read, by their ids. */
  readonly fileIds: readonly string[];
  /** A container of an earlier answer, whose variables and files are still there if it lives. */
  readonly containerId?: string;
  readonly usesMax?: number;
}

/** One place that an answer may rest on. Texts are never null, and never a path of this machine. */
export interface Source {
  /** From 1, unique in an answer. */
  readonly index: number;
  readonly title: string;
  /** http(s), or `parley-index:` where a document of the local index has no address. */
  readonly url: string;
  /** '' where nobody knows. */
  readonly siteName: string;
  /** '' or an address. */
  readonly icon: string;
  /** UTC milliseconds. */
  readonly publishedAt?: number;
  /** What was really fetched of it, and nothing else: plain text. */
  readonly passage: string;
  /** The passage stands in a document of the local index; absent: it is what a provider says of the page, or the page was read. */
  readonly isOwn?: true;
}

/** What a provider of a domain says, e.g. `{ domain: 'stock', text: '…' }`. */
export interface DomainFinding {
  readonly domain: string;
  readonly text: string;
}

export type ServerCall =
  | { readonly type: 'search'; readonly query: string }
  | { readonly type: 'page'; readonly url: string; readonly goal: string }
  | { readonly type: 'code'; readonly code: string; readonly containerId: string };

/** Something that did not work, in words for the caller. The answer goes on without it. */
export interface ServerCallFailure {
  readonly code: 'unavailable' | 'too-many-uses' | 'invalid-input' | 'not-allowed' | 'not-found' | 'too-long';
  readonly message: string;
}

export type ServerCallResult =
  | {
      readonly type: 'search';
      readonly sources: readonly Source[];
      readonly findings: readonly DomainFinding[];
      readonly failure?: ServerCallFailure;
    }
  | { readonly type: 'page'; readonly source?: Source; readonly failure?: ServerCallFailure }
  | { readonly type: 'code'; readonly output?: CodeOutput; readonly failure?: ServerCallFailure };

/** What came of one program. */
export interface CodeOutput {
  /** UTF-8 text, both cut at CODE_OUTPUT_BYTES_MAX. */
  readonly stdout: string;
  readonly stderr: string;
  /** `repr` of the last expression, where it is one and not None. */
  readonly value?: string;
  /** Why it did not come to its end. */
  readonly error?: CodeError;
  /** What it wrote or drew; PNG plots among them. */
  readonly files: readonly CodeFile[];
  /** Something of the above was cut. */
  readonly isCut: boolean;
}

export interface CodeError {
  /** `exception`: the program's own. The others: a limit ended it, and its container with it. */
  readonly type: 'exception' | 'time' | 'memory' | 'output' | 'lost';
  /** Such as `ZeroDivisionError: division by zero`; for an exception with its traceback within the program. */
  readonly message: string;
}

export interface CodeFile {
  /** A name without folders. */
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: Uint8Array;
  /** Where it is kept for the caller. Absent: it is not. */
  readonly kept?: { readonly fileId: string; readonly url: string };
}

/** A sentence of the answer and the source that bears it out: both were compared. */
export interface Citation {
  readonly source: Source;
  /** The sentence of the source's passage that comes nearest. */
  readonly cited: string;
  /** In code points from the beginning of the block's text: the sentence that cites. */
  readonly start: number;
  readonly end: number;
}

/** How often a server tool really worked for an answer. */
export interface ServerToolUse {
  readonly searches: number;
  /** The effective one; absent where nothing was searched. */
  readonly strategy?: SearchStrategy;
  readonly pages: number;
  readonly programs: number;
}

/** What is looked for, by whom. */
export interface SearchQuery {
  readonly text: string;
  /** Whose documents may be found besides those that are everybody's. */
  readonly workspace: string;
  /** `first`: the first provider that finds something; `all`: every one, merged. */
  readonly breadth: 'first' | 'all';
  readonly resultsMax: number;
  readonly withDomains: boolean;
  readonly freshnessDays?: number;
  readonly sites?: readonly string[];
  readonly blockedSites?: readonly string[];
}

export interface Found {
  /** Best first, each page once. */
  readonly results: readonly Omit<Source, 'index'>[];
  readonly findings: readonly DomainFinding[];
}

/**
 * Asks all providers that were set up; what one of them refuses goes to the log.
 *
 * @throws ServiceError `upstream-failed` when every one of them failed; or the signal's reason.
 */
export type Search = (query: SearchQuery, signal: AbortSignal) => Promise<Found>;

/**
 * Fetches a page, as its robots rules allow, and makes readable text of it.
 *
 * @throws ServiceError `invalid-request` for an address that may not be asked, `forbidden` where robots rules say no,
 * `upstream-failed`, `timeout`, `too-large`, `not-found`; or the signal's reason.
 */
export type ReadPage = (
  page: {
    readonly url: string;
    readonly workspace: string;
    /** Hosts as in PagesWish, wherever the page leads. */
    readonly sites?: readonly string[];
    readonly blockedSites?: readonly string[];
  },
  signal: AbortSignal,
) => Promise<Omit<Source, 'index'>>;

/** Where programs of one conversation run, one at a time; variables and files stay from one to the next. */
export interface CodeContainer {
  readonly id: string;
  /** Resolves also where the program failed. @throws ServiceError `overloaded`; or the signal's reason, and the container is gone. */
  run(code: string, signal: AbortSignal): Promise<CodeOutput>;
  /** The caller is done with it; it stays for CODE_CONTAINER_IDLE_MS where `id` may be asked for again. */
  release(): void;
}

export interface CodeInterpreter {
  /**
   * A container of this workspace's: the one with that id if it lives, else a new one.
   *
   * @throws ServiceError `unsupported` where the interpreter is off (with the reason), `overloaded` where all places are taken.
   */
  open(
    wish: {
      readonly workspace: string;
      readonly containerId?: string | undefined;
      /** Put into the working folder, read-only. */
      readonly files: readonly { readonly name: string; readonly path: string }[];
    },
    signal: AbortSignal,
  ): Promise<CodeContainer>;
}
