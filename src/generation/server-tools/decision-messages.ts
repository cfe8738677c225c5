import type { Message } from '../../core/message.ts';
import type { AnswerSession } from './answer-session.ts';

export const createTextMessage = (role: Message['role'], text: string): Message => ({
  role,
  content: [{ type: 'text', text }],
});

/** Creates an example question and its JSON answer. */
export const createExampleExchange = (question: string, response: object): readonly Message[] => [
  createTextMessage('user', question),
  createTextMessage('assistant', JSON.stringify(response)),
];

/** @param hint The caller's instruction on when and what to search. */
export function createSystemMessage(session: AnswerSession, task: string, hint: string | undefined): Message {
  const today = new Date(session.now()).toISOString().slice(0, 10);
  return createTextMessage('system', [`Today is ${today}.`, task, ...(hint ? [hint] : [])].join(' '));
}
