import type { JsonSchema } from '../../core/grammar.ts';
import { ANSWER_QUERIES_MAX } from './limits.ts';
import type { SearchToolOptions } from '../../core/server-tools.ts';
import { generateObject } from './generate-object.ts';
import type { ConversationDigest } from './conversation-digest.ts';
import { toQueryKey, normalizeQuery } from './normalize-query.ts';
import { createExampleExchange, createTextMessage, createSystemMessage } from './decision-messages.ts';
import type { AnswerSession } from './answer-session.ts';

/**
 * Decides whether to search for an answer, and for what: the model classifies the message and writes the queries in one
 * run. A forced search skips the classification, and searches for the user's words when the model's queries are
 * unusable.
 *
 * @returns No queries when no search is needed.
 */
export async function chooseFirstQueries(
  answer: AnswerSession,
  { question, promptText }: ConversationDigest,
  options: SearchToolOptions,
): Promise<readonly string[]> {
  if (question === '') return [];
  const allowsSeveral = options.strategy === 'max';
  const messages = [
    createSystemMessage(
      answer,
      'You sort messages and say what to search the web for. Answer with JSON only.',
      options.hint,
    ),
    ...EXAMPLES.flatMap(([message, kind, queries]) =>
      createExampleExchange(`Message: ${message}`, createExampleAnswer(kind, queries, allowsSeveral)),
    ),
    createTextMessage('user', promptText),
  ];
  const decision = parseDecision(
    await generateObject(answer, messages, createDecisionSchema(options.isForced, allowsSeveral)),
  );
  const usable = decision.queries.flatMap((query) => normalizeQuery(query) ?? []);
  const distinct = [...new Map(usable.map((query) => [toQueryKey(query), query])).values()];
  const queries = distinct.slice(0, allowsSeveral ? ANSWER_QUERIES_MAX : 1);
  if (!options.isForced && !decision.isSearch) return [];
  const userQuery = normalizeQuery(question);
  return queries.length > 0 || userQuery === undefined ? queries : [userQuery];
}

type MessageKind = 'asks for facts' | 'is a task' | 'is talk';

/** Chosen by measurement on the smallest catalogue model: it classifies by examples better than by rules. */
const EXAMPLES: readonly (readonly [message: string, kind: MessageKind, queries: readonly string[]])[] = [
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

const createExampleAnswer = (kind: MessageKind, queries: readonly string[], allowsSeveral: boolean): object => ({
  message: kind,
  search: allowsSeveral ? queries : (queries[0] ?? ''),
});

function createDecisionSchema(isForced: boolean, allowsSeveral: boolean): JsonSchema {
  const query = { type: 'string', maxLength: 120 };
  const queries = { type: 'array', items: query, maxItems: ANSWER_QUERIES_MAX, ...(isForced ? { minItems: 1 } : {}) };
  return {
    type: 'object',
    properties: {
      message: { enum: isForced ? ['asks for facts'] : ['asks for facts', 'is a task', 'is talk'] },
      search: allowsSeveral ? queries : query,
    },
    required: ['message', 'search'],
    additionalProperties: false,
  };
}

function parseDecision(value: unknown): { readonly isSearch: boolean; readonly queries: readonly string[] } {
  if (typeof value !== 'object' || value === null) return { isSearch: false, queries: [] };
  const { message, search } = { message: undefined, search: undefined, ...value } as Record<string, unknown>;
  const queries = (Array.isArray(search) ? search : [search]).filter((query) => typeof query === 'string');
  return { isSearch: typeof message === 'string' && message.includes('facts'), queries };
}
