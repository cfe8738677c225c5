import { CITED_TEXT_CHARS_MAX } from '../../limits.ts';
import type {
  Citation,
  CodeOutput,
  ServerCall,
  ServerCallFailure,
  ServerCallResult,
  Source,
} from '../../../core/server-tools.ts';
import { sealText } from './sealed-text.ts';
import type { ServerToolName } from './server-tool-schema.ts';

const TOOL_NAMES = { search: 'web_search', page: 'web_fetch', code: 'code_execution' } as const satisfies Record<
  ServerCall['type'],
  ServerToolName
>;

/** Every server tool is called by the model itself, never by a program. */
const CALLER = { caller: { type: 'direct' } };

/** Encodes a `server_tool_use` block as the stream opens it, without its input. */
export const encodeServerUseStart = (id: string, { type }: ServerCall): object => ({
  type: 'server_tool_use',
  id: toServerUseId(id),
  name: TOOL_NAMES[type],
  input: {},
  ...CALLER,
});

export const encodeServerUse = (id: string, call: ServerCall): object => ({
  ...encodeServerUseStart(id, call),
  input: encodeServerInput(call),
});

export function encodeServerInput(call: ServerCall): object {
  switch (call.type) {
    case 'search':
      return { query: call.query };
    case 'page':
      return { url: call.url };
    case 'code':
      return { code: call.code };
  }
}

/** Clients recognize these ids by their prefix. */
const toServerUseId = (id: string): string =>
  id.startsWith('srvtoolu_') ? id : `srvtoolu_${id.replaceAll(/[^A-Za-z0-9_]/g, '_')}`;

/** Encodes the result of a call as one block. */
export function encodeServerResult(id: string, result: ServerCallResult): object {
  const tool_use_id = toServerUseId(id);
  switch (result.type) {
    case 'search':
      return {
        type: 'web_search_tool_result',
        tool_use_id,
        content: result.failure
          ? { type: 'web_search_tool_result_error', error_code: SEARCH_ERRORS[result.failure.code] }
          : result.sources.map(encodeSearchSource),
        ...CALLER,
      };
    case 'page':
      return {
        type: 'web_fetch_tool_result',
        tool_use_id,
        content: result.source
          ? encodePage(result.source)
          : { type: 'web_fetch_tool_result_error', error_code: FETCH_ERRORS[result.failure?.code ?? 'unavailable'] },
        ...CALLER,
      };
    case 'code': {
      const error_code = findCodeError(result);
      return {
        type: 'code_execution_tool_result',
        tool_use_id,
        content:
          result.output && error_code === undefined
            ? encodeProgramOutput(result.output)
            : { type: 'code_execution_tool_result_error', error_code: error_code ?? 'unavailable' },
      };
    }
  }
}

type ErrorCodes = Readonly<Record<ServerCallFailure['code'], string>>;

const SEARCH_ERRORS: ErrorCodes = {
  unavailable: 'unavailable',
  'too-many-uses': 'max_uses_exceeded',
  'invalid-input': 'invalid_tool_input',
  'not-allowed': 'invalid_tool_input',
  'not-found': 'unavailable',
  'too-long': 'query_too_long',
};

const FETCH_ERRORS: ErrorCodes = {
  unavailable: 'unavailable',
  'too-many-uses': 'max_uses_exceeded',
  'invalid-input': 'invalid_tool_input',
  'not-allowed': 'url_not_allowed',
  'not-found': 'url_not_accessible',
  'too-long': 'content_too_large',
};

const CODE_ERRORS: ErrorCodes = {
  unavailable: 'unavailable',
  'too-many-uses': 'too_many_requests',
  'invalid-input': 'invalid_tool_input',
  'not-allowed': 'unavailable',
  'not-found': 'unavailable',
  'too-long': 'execution_time_exceeded',
};

/** A program that ran out of time or lost its container has an error; any other end is a result. */
function findCodeError({ output, failure }: Extract<ServerCallResult, { readonly type: 'code' }>): string | undefined {
  if (failure) return CODE_ERRORS[failure.code];
  if (output?.error?.type === 'time') return 'execution_time_exceeded';
  return output?.error?.type === 'lost' ? 'unavailable' : undefined;
}

const encodeSearchSource = ({ url, title, passage, publishedAt }: Source): object => ({
  type: 'web_search_result',
  url,
  title,
  encrypted_content: sealText(passage),
  page_age: publishedAt === undefined ? null : DATE_FORMAT.format(publishedAt),
});

/** Formats a date as `April 30, 2026`. */
const DATE_FORMAT = new Intl.DateTimeFormat('en-US', { dateStyle: 'long', timeZone: 'UTC' });

const encodePage = ({ url, title, passage }: Source): object => ({
  type: 'web_fetch_result',
  url,
  content: {
    type: 'document',
    source: { type: 'text', media_type: 'text/plain', data: passage },
    title,
    citations: null,
  },
  retrieved_at: null,
});

/**
 * Encodes a program's output. The last expression's value is part of stdout, as in an interpreter. Files need an id.
 */
const encodeProgramOutput = ({ stdout, stderr, value, error, files }: CodeOutput): object => ({
  type: 'code_execution_result',
  stdout: value === undefined ? stdout : `${endWithLineBreak(stdout)}${value}\n`,
  stderr: error === undefined ? stderr : `${endWithLineBreak(stderr)}${error.message}`,
  return_code: error === undefined ? 0 : 1,
  content: files.flatMap(({ stored }) => (stored ? [{ type: 'code_execution_output', file_id: stored.fileId }] : [])),
});

const endWithLineBreak = (text: string): string => (text === '' || text.endsWith('\n') ? text : `${text}\n`);

/** Encodes a citation of a source. */
export const encodeCitation = ({ source: { index, title, url }, citedText }: Citation): object => ({
  type: 'web_search_result_location',
  cited_text: Array.from(citedText).slice(0, CITED_TEXT_CHARS_MAX).join(''),
  encrypted_index: sealText(String(index)),
  title,
  url,
});
