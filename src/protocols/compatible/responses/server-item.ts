import type { CodeOutput, ServerCall, ServerCallResult } from '../../../core/server-tools.ts';
import { itemPrefix } from '../items/item-prefixes.ts';
import { outputId } from './head.ts';
import type { OutputItem, OutputPlace } from './output-item.ts';

const TYPES = { search: 'web_search_call', page: 'web_extractor_call', code: 'code_interpreter_call' } as const;

/** Types of items that stand for work on our side: they answer nobody. */
export const SERVER_ITEM_TYPES: ReadonlySet<string> = new Set(Object.values(TYPES));

/** Work on our side before it has begun: wire.md E6.3, and the official clients' types. */
export function openedServerItem(call: ServerCall, place: OutputPlace): OutputItem {
  const head = { type: TYPES[call.type], id: serverItemId(call, place) };
  switch (call.type) {
    case 'search':
      return { ...head, status: 'in_progress', action: { type: 'search', query: call.query } };
    case 'page':
      return { ...head, goal: call.goal, urls: [call.url], output: '', status: 'in_progress' };
    case 'code':
      // The program comes in a delta, which clients add to what is here.
      return { ...head, code: '', container_id: call.containerId, outputs: [], status: 'in_progress' };
  }
}

/** The same with what came of it. */
export function serverItem(call: ServerCall, result: ServerCallResult, place: OutputPlace): OutputItem {
  const opened = openedServerItem(call, place);
  const status = hasFailed(result) ? 'failed' : 'completed';
  if (call.type === 'code')
    return { ...opened, code: call.code, outputs: result.type === 'code' ? outputsOf(result) : [], status };
  if (call.type === 'page') return { ...opened, output: pageText(result), status };
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

const serverItemId = ({ type }: ServerCall, { head, index }: OutputPlace): string =>
  outputId(head, itemPrefix(TYPES[type]), index);

/** A program's own exception is an outcome like any other; one that a limit ended has failed. */
const hasFailed = (result: ServerCallResult): boolean =>
  result.failure !== undefined ||
  (result.type === 'code' && result.output?.error !== undefined && result.output.error.type !== 'exception');

const pageText = (result: ServerCallResult): string =>
  result.type === 'page' ? (result.source?.passage ?? result.failure?.message ?? '') : '';

function outputsOf({ output, failure }: Extract<ServerCallResult, { readonly type: 'code' }>): readonly object[] {
  const logs = [...(output ? logsOf(output) : []), ...(failure ? [failure.message] : [])].join('\n');
  const images = (output?.files ?? []).flatMap(({ mediaType, kept }) =>
    kept && mediaType.startsWith('image/') ? [{ type: 'image', url: kept.url }] : [],
  );
  return [...(logs === '' ? [] : [{ type: 'logs', logs }]), ...images];
}

/** The types of clients have no place for files that are no images: they are named where the program's own words are. */
function logsOf({ stdout, stderr, value, error, files }: CodeOutput): readonly string[] {
  const others = files.filter(({ mediaType, kept }) => !kept || !mediaType.startsWith('image/'));
  const named = others.map(({ name, kept }) => `${name}: ${kept ? `${kept.fileId} ${kept.url}` : 'not kept'}`);
  return [stdout, stderr, value ?? '', error?.message ?? '', ...named]
    .map((text) => text.replace(/\n$/, ''))
    .filter((text) => text !== '');
}

type Frame = readonly [type: string, facts: object];

/** Between `output_item.added` and the work. */
export function framesBefore(call: ServerCall, place: object): readonly Frame[] {
  const name = `response.${TYPES[call.type]}`;
  switch (call.type) {
    case 'search':
      return [
        [`${name}.in_progress`, place],
        [`${name}.searching`, place],
      ];
    case 'page':
      return [];
    case 'code':
      return [
        [`${name}.in_progress`, place],
        [`${name}_code.delta`, { ...place, delta: call.code }],
        [`${name}_code.done`, { ...place, code: call.code }],
        [`${name}.interpreting`, place],
      ];
  }
}

/** Between the work and `output_item.done`, which alone says that it failed. */
export const framesAfter = (call: ServerCall, result: ServerCallResult, place: object): readonly Frame[] =>
  call.type === 'page' || hasFailed(result) ? [] : [[`response.${TYPES[call.type]}.completed`, place]];
