import type { JsonSchema } from '../../core/grammar.ts';
import { ANSWER_QUERIES_MAX } from '../../core/limits.ts';
import type { SearchWish } from '../../core/server-tools.ts';
import { askForm } from './ask-form.ts';
import type { Digest } from './conversation-digest.ts';
import { queryKey, usableQuery } from './usable-query.ts';
import { exchange, says, systemOf } from './decision-turns.ts';
import type { Turn } from './turn.ts';

/**
 * Whether to search for an answer, and for what: the model sorts the message and writes the queries in the same run. Where a
 * search is forced it only writes them, and the user's own words are searched for where these are no use.
 *
 * @returns none where nothing is to be searched.
 */
export async function firstQueries(
  turn: Turn,
  { question, told }: Digest,
  wish: SearchWish,
): Promise<readonly string[]> {
  if (question === '') return [];
  const isSeveral = wish.strategy === 'max';
  const messages = [
    systemOf(turn, 'You sort messages and say what to search the web for. Answer with JSON only.', wish.hint),
    ...EXAMPLES.flatMap(([message, kind, queries]) =>
      exchange(`Message: ${message}`, written(kind, queries, isSeveral)),
    ),
    says('user', told),
  ];
  const read = readDecision(await askForm(turn, messages, schemaOf(wish.isForced, isSeveral)));
  const usable = read.queries.flatMap((query) => usableQuery(query) ?? []);
  const each = [...new Map(usable.map((query) => [queryKey(query), query])).values()];
  const queries = each.slice(0, isSeveral ? ANSWER_QUERIES_MAX : 1);
  if (!wish.isForced && !read.isSearch) return [];
  const own = usableQuery(question);
  return queries.length > 0 || own === undefined ? queries : [own];
}

type Kind = 'asks for facts' | 'is a task' | 'is talk';

/** Ours, measured on the smallest model of the catalogue: sorting into kinds by examples is what it does best. */
const EXAMPLES: readonly (readonly [message: string, kind: Kind, queries: readonly string[]])[] = [
  [
    'Who won the marathon in Paris this year?',
    'asks for facts',
    ['Paris marathon this year winner', 'Paris marathon results'],
  ],
  ['Write a poem about rain.', 'is a task', []],
  [
    'How much does a train ticket from Rome to Milan cost?',
    'asks for facts',
    ['train ticket price Rome Milan', 'Rome Milan train fares'],
  ],
  ['Hi there!', 'is talk', []],
  ['What is 7 + 5?', 'is a task', []],
  ['上海明天会下雨吗？', 'asks for facts', ['上海 明天 天气', '上海 天气预报']],
  ['Say that more politely: go away.', 'is a task', []],
  ['Opening hours of the Prado museum', 'asks for facts', ['Prado museum opening hours']],
];

const written = (kind: Kind, queries: readonly string[], isSeveral: boolean): object => ({
  message: kind,
  search: isSeveral ? queries : (queries[0] ?? ''),
});

function schemaOf(isForced: boolean, isSeveral: boolean): JsonSchema {
  const query = { type: 'string', maxLength: 120 };
  const queries = { type: 'array', items: query, maxItems: ANSWER_QUERIES_MAX, ...(isForced ? { minItems: 1 } : {}) };
  return {
    type: 'object',
    properties: {
      message: { enum: isForced ? ['asks for facts'] : ['asks for facts', 'is a task', 'is talk'] },
      search: isSeveral ? queries : query,
    },
    required: ['message', 'search'],
    additionalProperties: false,
  };
}

function readDecision(value: unknown): { readonly isSearch: boolean; readonly queries: readonly string[] } {
  if (typeof value !== 'object' || value === null) return { isSearch: false, queries: [] };
  const { message, search } = { message: undefined, search: undefined, ...value } as Record<string, unknown>;
  const queries = (Array.isArray(search) ? search : [search]).filter((query) => typeof query === 'string');
  return { isSearch: typeof message === 'string' && message.includes('facts'), queries };
}
