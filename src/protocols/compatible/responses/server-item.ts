import type { CodeOutput, ServerCall, ServerCallResult } from '../../../core/server-tools.ts';
import { getItemPrefix } from '../items/item-prefixes.ts';
import { formatOutputId } from './head.ts';
import type { OutputItem, OutputPosition } from './output-item.ts';

const TYPES = { search: 'web_search_call', page: 'web_extractor_call', code: 'code_interpreter_call' } as const;

/** Item types of server tool calls; they contain no answer for the user. */
export const SERVER_ITEM_TYPES: ReadonlySet<string> = new Set(Object.values(TYPES));

/**
 * Encodes a server tool call that has just started, with the fields that the types of OpenAI's clients declare
 * (docs/wire/openai-compatible.md#responses-request).
 */
export function encodeOpenedServerItem(call: ServerCall, position: OutputPosition): OutputItem {
  const commonFields = { type: TYPES[call.type], id: formatServerItemId(call, position) };
  switch (call.type) {
    case 'search':
      return { ...commonFields, status: 'in_progress', action: { type: 'search', query: call.query } };
    case 'page':
      return { ...commonFields, goal: call.goal, urls: [call.url], output: '', status: 'in_progress' };
    case 'code':
      // The code follows in a delta event, which clients append to this field.
      return { ...commonFields, code: '', container_id: call.containerId, outputs: [], status: 'in_progress' };
  }
}

/** Encodes a server tool call with its result. */
export function encodeServerItem(call: ServerCall, result: ServerCallResult, position: OutputPosition): OutputItem {
  const opened = encodeOpenedServerItem(call, position);
  const status = hasFailed(result) ? 'failed' : 'completed';
  if (call.type === 'code')
    return { ...opened, code: call.code, outputs: result.type === 'code' ? encodeOutputs(result) : [], status };
  if (call.type === 'page') return { ...opened, output: getPageText(result), status };
  const sources = result.type === 'search' ? result.sources : [];
  return {
    ...opened,
    status,
    action: {
      type: 'search',
      query: call.query,
      sources: sources.map(({ url }) => ({ type: 'url', url })),
    },
  };
}

const formatServerItemId = ({ type }: ServerCall, { head, index }: OutputPosition): string =>
  formatOutputId(head, getItemPrefix(TYPES[type]), index);

/** An exception of the program is a regular outcome; a program that a limit stopped has failed. */
const hasFailed = (result: ServerCallResult): boolean =>
  result.failure !== undefined ||
  (result.type === 'code' && result.output?.error !== undefined && result.output.error.type !== 'exception');

const getPageText = (result: ServerCallResult): string =>
  result.type === 'page' ? (result.source?.passage ?? result.failure?.message ?? '') : '';

function encodeOutputs({ output, failure }: Extract<ServerCallResult, { readonly type: 'code' }>): readonly object[] {
  const logs = [...(output ? listLogs(output) : []), ...(failure ? [failure.message] : [])].join('\n');
  const images = (output?.files ?? []).flatMap(({ mediaType, stored }) =>
    stored && mediaType.startsWith('image/') ? [{ type: 'image', url: stored.url }] : [],
  );
  return [...(logs === '' ? [] : [{ type: 'logs', logs }]), ...images];
}

/**
 * Lists the output texts of a program. Files that are no images are named here, because clients have no type for them.
 */
function listLogs({ stdout, stderr, value, error, files }: CodeOutput): readonly string[] {
  const others = files.filter(({ mediaType, stored }) => !stored || !mediaType.startsWith('image/'));
  const named = others.map(({ name, stored }) => `${name}: ${stored ? `${stored.fileId} ${stored.url}` : 'not kept'}`);
  return [stdout, stderr, value ?? '', error?.message ?? '', ...named]
    .map((text) => text.replace(/\n$/, ''))
    .filter((text) => text !== '');
}

/** Type and fields of one server-sent event. */
type SseEvent = readonly [type: string, fields: object];

/**
 * Encodes the events between `output_item.added` and the run of the tool, for example
 * `response.code_interpreter_call_code.delta`.
 * @param location The fields `item_id` and `output_index` of every event.
 */
export function encodeToolStartEvents(call: ServerCall, location: object): readonly SseEvent[] {
  const name = `response.${TYPES[call.type]}`;
  switch (call.type) {
    case 'search':
      return [
        [`${name}.in_progress`, location],
        [`${name}.searching`, location],
      ];
    case 'page':
      return [];
    case 'code':
      return [
        [`${name}.in_progress`, location],
        [`${name}_code.delta`, { ...location, delta: call.code }],
        [`${name}_code.done`, { ...location, code: call.code }],
        [`${name}.interpreting`, location],
      ];
  }
}

/** Encodes the events between the run of the tool and `output_item.done`, the only event that reports a failure. */
export const encodeToolEndEvents = (
  call: ServerCall,
  result: ServerCallResult,
  location: object,
): readonly SseEvent[] =>
  call.type === 'page' || hasFailed(result) ? [] : [[`response.${TYPES[call.type]}.completed`, location]];
