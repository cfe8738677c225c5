import type { JsonSchema } from '../../core/grammar.ts';
import type { ConversationDigest } from './conversation-digest.ts';
import { createExampleExchange, createSystemMessage, createTextMessage } from './decision-messages.ts';
import { generateObject } from './generate-object.ts';
import type { AnswerSession } from './answer-session.ts';

/**
 * Decides whether the answer needs a program, for models that do not call a tool by themselves: they compute in their
 * thought or their text, with an invented result. An unusable decision means that it needs none.
 */
export async function needsProgram(
  answer: AnswerSession,
  { question, promptText }: ConversationDigest,
): Promise<boolean> {
  if (question === '') return false;
  const messages = [
    createSystemMessage(answer, 'You sort messages. Answer with JSON only.', undefined),
    ...EXAMPLES.flatMap(([message, kind]) => createExampleExchange(`Message: ${message}`, { message: kind })),
    createTextMessage('user', promptText),
  ];
  const decision = await generateObject(answer, messages, DECISION_SCHEMA);
  return typeof decision === 'object' && decision !== null && 'message' in decision && decision.message === COMPUTES;
}

const COMPUTES = 'needs computing';

const KINDS = [COMPUTES, 'asks for facts', 'is a task', 'is talk'] as const;

const DECISION_SCHEMA: JsonSchema = {
  type: 'object',
  properties: { message: { enum: KINDS } },
  required: ['message'],
  additionalProperties: false,
};

/** Chosen by measurement on the smallest catalogue model: it classifies by examples better than by rules. */
const EXAMPLES: readonly (readonly [message: string, kind: (typeof KINDS)[number]])[] = [
  ['What is 7 times 83?', COMPUTES],
  ['Who wrote Hamlet?', 'asks for facts'],
  ['How many letters does the word "banana" have?', COMPUTES],
  ['Write a poem about rain.', 'is a task'],
  ['Which weekday was 5 May 1920?', COMPUTES],
  ['Hi there!', 'is talk'],
  ['Give me the average of 3, 9 and 14.', COMPUTES],
  ['What is a prime number?', 'asks for facts'],
  ['340 的百分之十二是多少？', COMPUTES],
  ['Write a Python function that sorts a list.', 'is a task'],
  ['Convert 200 to base 3.', COMPUTES],
  ['Write 75 with Roman numerals.', COMPUTES],
  ['Say that more politely: go away.', 'is a task'],
  ['A car drives 130 km in 80 minutes. How fast is that in km/h?', COMPUTES],
  ['How high is Mont Blanc?', 'asks for facts'],
];
