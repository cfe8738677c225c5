import { ServiceError } from '../../../core/error.ts';
import { RESEARCH_TOPIC_CHARS_MAX } from './limits.ts';
import { getMessageText } from '../../../core/message.ts';
import type { Message } from '../../../core/message.ts';
import { truncateMiddle } from '../../../generation/server-tools/conversation-digest.ts';

/** Languages in which Parley's own prompts and report texts exist. The model writes in the user's language. */
export type ReportLanguage = 'en' | 'zh';

/** The subject of a research run, parsed from the conversation. */
export interface Topic {
  /** The first user message. */
  readonly topic: string;
  /** The last clarifying question; empty when none was asked. */
  readonly question: string;
  /** The user's later messages; empty in a conversation of one message. */
  readonly answer: string;
  /** The part of the answer to search for; empty when the answer leaves all open. */
  readonly focus: string;
  readonly language: ReportLanguage;
}

/**
 * @throws ServiceError `invalid-request` unless user and assistant messages alternate, and the first and last are the
 * user's.
 */
export function parseTopic(messages: readonly Message[]): Topic {
  const isAlternating =
    messages.length % 2 === 1 && messages.every(({ role }, at) => role === (at % 2 === 0 ? 'user' : 'assistant'));
  if (!isAlternating)
    throw new ServiceError(
      'invalid-request',
      'messages must alternate between user and assistant, and the first and last must be user messages.',
      { param: 'messages' },
    );
  const texts = messages.map((message) => toOneLine(getMessageText(message)));
  const [topic = '', ...others] = texts;
  if (topic === '')
    throw new ServiceError('invalid-request', 'messages[0].content must be a topic to research, not empty.', {
      param: 'messages[0].content',
    });
  const answers = others.filter((text, at) => at % 2 === 1 && text !== '');
  const specificAnswers = answers.filter((answer) => !OPEN_ANSWER.test(answer));
  return {
    topic: truncateMiddle(topic, RESEARCH_TOPIC_CHARS_MAX),
    question: truncateMiddle(others.at(-2) ?? '', RESEARCH_TOPIC_CHARS_MAX / 2),
    answer: truncateMiddle(answers.join(' '), RESEARCH_TOPIC_CHARS_MAX),
    focus: truncateMiddle(specificAnswers.join(' '), RESEARCH_TOPIC_CHARS_MAX),
    language: detectReportLanguage([topic, ...specificAnswers].join(' ')),
  };
}

const toOneLine = (text: string): string => text.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim();

/** Matches answers such as `No preference.`, whose words would find pages about preferences. */
const OPEN_ANSWER =
  /^(?:(?:i have |i've )?no(?: (?:special|particular|specific))? (?:preferences?|wishes|idea)|no|none|nothing(?: (?:special|particular|specific|else))?|any(?:thing)?|everything|all(?: of (?:it|them|these|this))?|whatever|(?:i )?do(?:n't|n’t| not) (?:know|care|mind)|(?:it'?s )?up to you|you (?:choose|decide)|n\/?a|[无没](?:有)?(?:什么|特别|特殊)?(?:的)?(?:偏好|要求|限制)?|都可以|都行|都要|随便|任意|全部|所有|不限|不知道|你(?:来)?(?:决定|定))[\s.!。！]*$/iu;

/**
 * Detects Chinese by its share of Han characters, each of which counts like a few letters. Text with kana is not
 * Chinese.
 */
export function detectReportLanguage(text: string): ReportLanguage {
  const signs = text.match(/\p{Script=Han}/gu)?.length ?? 0;
  const kana = text.match(/[\p{Script=Hiragana}\p{Script=Katakana}]/gu)?.length ?? 0;
  const letters = text.match(/\p{L}/gu)?.length ?? 0;
  return kana === 0 && signs * 3 > letters - signs ? 'zh' : 'en';
}
