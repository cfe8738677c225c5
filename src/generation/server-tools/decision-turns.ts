import type { Message } from '../../core/message.ts';
import type { Turn } from './turn.ts';

export const says = (role: Message['role'], text: string): Message => ({ role, content: [{ type: 'text', text }] });

/** An example of what is asked and answered. */
export const exchange = (asked: string, answer: object): readonly Message[] => [
  says('user', asked),
  says('assistant', JSON.stringify(answer)),
];

/** @param hint What the caller says about when and for what to search. */
export function systemOf(turn: Turn, task: string, hint: string | undefined): Message {
  const today = new Date(turn.now()).toISOString().slice(0, 10);
  return says('system', [`Today is ${today}.`, task, ...(hint ? [hint] : [])].join(' '));
}
