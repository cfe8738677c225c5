import { DECISION_HISTORY_CHARS_MAX, DECISION_QUESTION_CHARS_MAX } from '../../core/limits.ts';
import { textOf } from '../../core/message.ts';
import type { Message } from '../../core/message.ts';

/** What a decision about tools is made on: not more of a conversation than it takes. */
export interface Digest {
  /** What the user said last, cut in the middle where it is long; '' where no user said anything. */
  readonly question: string;
  /** The question with a little of what was said before it. */
  readonly told: string;
}

/** Only what users and the model said: tools' results are others' words. */
export function digestOf(messages: readonly Message[]): Digest {
  const at = messages.findLastIndex(({ role }) => role === 'user');
  const asked = messages[at];
  if (!asked) return { question: '', told: '' };
  const question = cutMiddle(textOf(asked).trim(), DECISION_QUESTION_CHARS_MAX);
  const before = messages
    .slice(0, at)
    .filter((message) => (message.role === 'user' || message.role === 'assistant') && textOf(message).trim() !== '')
    .slice(-TURNS_MAX)
    .map((message) => {
      const who = message.role === 'user' ? 'User' : 'Assistant';
      return `${who}: ${cutMiddle(textOf(message).trim(), DECISION_HISTORY_CHARS_MAX / TURNS_MAX)}`;
    });
  const earlier = before.length === 0 ? '' : `Earlier in the conversation:\n${before.join('\n')}\n\n`;
  return { question, told: `${earlier}Message: ${question}` };
}

const TURNS_MAX = 4;

/** Questions stand at the beginning or at the end of what is said with them. */
export function cutMiddle(text: string, charactersMax: number): string {
  if (text.length <= charactersMax) return text;
  const half = Math.floor((charactersMax - GAP.length) / 2);
  return text.slice(0, half).toWellFormed() + GAP + text.slice(-half).toWellFormed();
}

const GAP = ' […] ';
