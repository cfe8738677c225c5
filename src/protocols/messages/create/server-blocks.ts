import { CITED_TEXT_CHARACTERS_MAX } from '../../../core/limits.ts';
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

const NAMES = { search: 'web_search', page: 'web_fetch', code: 'code_execution' } as const satisfies Record<
  ServerCall['type'],
  ServerToolName
>;

/** No program calls a tool here: the model itself does. */
const CALLER = { caller: { type: 'direct' } };

/** What the model asked for, without its input: a `server_tool_use` block as it is opened. */
export const openedServerUse = (id: string, { type }: ServerCall): object => ({
  type: 'server_tool_use',
  id: serverUseId(id),
  name: NAMES[type],
  input: {},
  ...CALLER,
});

export const serverUse = (id: string, call: ServerCall): object => ({
  ...openedServerUse(id, call),
  input: serverInput(call),
});

export function serverInput(call: ServerCall): object {
  switch (call.type) {
    case 'search':
      return { query: call.query };
    case 'page':
      return { url: call.url };
    case 'code':
      return { code: call.code };
  }
}

/** Clients know these ids by what they begin with. */
const serverUseId = (id: string): string =>
  id.startsWith('srvtoolu_') ? id : `srvtoolu_${id.replaceAll(/[^A-Za-z0-9_]/g, '_')}`;

/** What came of it, as one block. */
export function serverResult(id: string, result: ServerCallResult): object {
  const tool_use_id = serverUseId(id);
  switch (result.type) {
    case 'search':
      return {
        type: 'web_search_tool_result',
        tool_use_id,
        content: result.failure
          ? { type: 'web_search_tool_result_error', error_code: SEARCH_ERRORS[result.failure.code] }
          : result.sources.map(foundBlock),
        ...CALLER,
      };
    case 'page':
      return {
        type: 'web_fetch_tool_result',
        tool_use_id,
        content: result.source
          ? pageBlock(result.source)
          : { type: 'web_fetch_tool_result_error', error_code: FETCH_ERRORS[result.failure?.code ?? 'unavailable'] },
        ...CALLER,
      };
    case 'code': {
      const error_code = codeError(result);
      return {
        type: 'code_execution_tool_result',
        tool_use_id,
        content:
          result.output && error_code === undefined
            ? programBlock(result.output)
            : { type: 'code_execution_tool_result_error', error_code: error_code ?? 'unavailable' },
      };
    }
  }
}

type Codes = Readonly<Record<ServerCallFailure['code'], string>>;

const SEARCH_ERRORS: Codes = {
  unavailable: 'unavailable',
  'too-many-uses': 'max_uses_exceeded',
  'invalid-input': 'invalid_tool_input',
  'not-allowed': 'invalid_tool_input',
  'not-found': 'unavailable',
  'too-long': 'query_too_long',
};

const FETCH_ERRORS: Codes = {
  unavailable: 'unavailable',
  'too-many-uses': 'max_uses_exceeded',
  'invalid-input': 'invalid_tool_input',
  'not-allowed': 'url_not_allowed',
  'not-found': 'url_not_accessible',
  'too-long': 'content_too_large',
};

const CODE_ERRORS: Codes = {
  unavailable: 'unavailable',
  'too-many-uses': 'too_many_requests',
  'invalid-input': 'invalid_tool_input',
  'not-allowed': 'unavailable',
  'not-found': 'unavailable',
  'too-long': 'execution_time_exceeded',
};

/** A program that used up its time or lost its place has no outcome; any other end is one. */
function codeError({ output, failure }: Extract<ServerCallResult, { readonly type: 'code' }>): string | undefined {
  if (failure) return CODE_ERRORS[failure.code];
  if (output?.error?.type === 'time') return 'execution_time_exceeded';
  return output?.error?.type === 'lost' ? 'unavailable' : undefined;
}

const foundBlock = ({ url, title, passage, publishedAt }: Source): object => ({
  type: 'web_search_result',
  url,
  title,
  encrypted_content: sealText(passage),
  page_age: publishedAt === undefined ? null : DAY.format(publishedAt),
});

/** `April 30, 2026`. */
const DAY = new Intl.DateTimeFormat('en-US', { dateStyle: 'long', timeZone: 'UTC' });

const pageBlock = ({ url, title, passage }: Source): object => ({
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

/** The value of the last expression is what an interpreter would print; a file that is not kept has no id to be told by. */
const programBlock = ({ stdout, stderr, value, error, files }: CodeOutput): object => ({
  type: 'code_execution_result',
  stdout: value === undefined ? stdout : `${onLine(stdout)}${value}\n`,
  stderr: error === undefined ? stderr : `${onLine(stderr)}${error.message}`,
  return_code: error === undefined ? 0 : 1,
  content: files.flatMap(({ kept }) => (kept ? [{ type: 'code_execution_output', file_id: kept.fileId }] : [])),
});

const onLine = (text: string): string => (text === '' || text.endsWith('\n') ? text : `${text}\n`);

/** What a text rests on. */
export const citationBlock = ({ source: { index, title, url }, cited }: Citation): object => ({
  type: 'web_search_result_location',
  cited_text: Array.from(cited).slice(0, CITED_TEXT_CHARACTERS_MAX).join(''),
  encrypted_index: sealText(String(index)),
  title,
  url,
});
