import { DECISION_HISTORY_CHARS_MAX, DECISION_QUESTION_CHARS_MAX } from './limits.ts';
import { getMessageText, type Message } from '../../core/message.ts';

/** Short form of a conversation for decisions about server tools. */
export interface ConversationDigest {
  /** The last user message, truncated in the middle; empty without a user message. */
  readonly question: string;
  /** The question with a few earlier messages. */
  readonly promptText: string;
}

/** Uses user and assistant messages only: tool results are third-party text. */
export function createDigest(messages: readonly Message[]): ConversationDigest {
  const at = messages.findLastIndex(({ role }) => role === 'user');
  const lastUserMessage = messages[at];
  if (!lastUserMessage) return { question: '', promptText: '' };
  const question = truncateMiddle(getMessageText(lastUserMessage).trim(), DECISION_QUESTION_CHARS_MAX);
  const earlierMessages = messages
    .slice(0, at)
    .filter(
      (message) => (message.role === 'user' || message.role === 'assistant') && getMessageText(message).trim() !== '',
    )
    .slice(-EARLIER_MESSAGES_MAX)
    .map((message) => {
      const speaker = message.role === 'user' ? 'User' : 'Assistant';
      return `${speaker}: ${truncateMiddle(getMessageText(message).trim(), DECISION_HISTORY_CHARS_MAX / EARLIER_MESSAGES_MAX)}`;
    });
  const earlier = earlierMessages.length === 0 ? '' : `Earlier in the conversation:\n${earlierMessages.join('\n')}\n\n`;
  return { question, promptText: `${earlier}Message: ${question}` };
}

const EARLIER_MESSAGES_MAX = 4;

/** Truncates the middle, because a question stands at the start or the end of its message. */
export function truncateMiddle(text: string, charactersMax: number): string {
  if (text.length <= charactersMax) return text;
  const half = Math.floor((charactersMax - GAP.length) / 2);
  return text.slice(0, half).toWellFormed() + GAP + text.slice(-half).toWellFormed();
}

const GAP = ' […] ';
