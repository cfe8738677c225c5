import { ServiceError } from '../../core/error.ts';
import { RESEARCH_TOPIC_CHARS_MAX } from '../../core/limits.ts';
import { textOf } from '../../core/message.ts';
import type { Message } from '../../core/message.ts';
import { cutMiddle } from '../server-tools/conversation-digest.ts';

/** The languages that we have words of our own in. A model's words are in the user's language, whichever that is. */
export type OwnLanguage = 'en' | 'zh';

/** What is to be looked into, as the conversation says it. */
export interface Topic {
  /** What the user said first. */
  readonly topic: string;
  /** What was asked back last; '' where nothing was. */
  readonly asked: string;
  /** What the user said after that; '' in a conversation of one turn. */
  readonly answer: string;
  /** Of the answer, what may be looked for: '' where it leaves all open. */
  readonly focus: string;
  readonly language: OwnLanguage;
}

/** @throws ServiceError `invalid-request` where these are not turns of user and assistant, of which the user has first and last. */
export function topicOf(messages: readonly Message[]): Topic {
  const isInTurns =
    messages.length % 2 === 1 && messages.every(({ role }, at) => role === (at % 2 === 0 ? 'user' : 'assistant'));
  if (!isInTurns)
    throw new ServiceError(
      'invalid-request',
      'messages must be of user and assistant in turns, the first and the last of the user.',
      { param: 'messages' },
    );
  const texts = messages.map((message) => oneLine(textOf(message)));
  const [topic = '', ...others] = texts;
  if (topic === '')
    throw new ServiceError('invalid-request', 'messages[0].content must say what is to be looked into.', {
      param: 'messages[0].content',
    });
  const answers = others.filter((text, at) => at % 2 === 1 && text !== '');
  const wishes = answers.filter((answer) => !LEAVES_OPEN.test(answer));
  return {
    topic: cutMiddle(topic, RESEARCH_TOPIC_CHARS_MAX),
    asked: cutMiddle(others.at(-2) ?? '', RESEARCH_TOPIC_CHARS_MAX / 2),
    answer: cutMiddle(answers.join(' '), RESEARCH_TOPIC_CHARS_MAX),
    focus: cutMiddle(wishes.join(' '), RESEARCH_TOPIC_CHARS_MAX),
    language: ownLanguageOf([topic, ...wishes].join(' ')),
  };
}

const oneLine = (text: string): string => text.replaceAll(/[\s\p{Cc}]+/gu, ' ').trim();

/** Answers such as `No preference.`: to look for their words would bring pages about preferences. */
const LEAVES_OPEN =
  /^(?:(?:i have |i've )?no(?: (?:special|particular|specific))? (?:preferences?|wishes|idea)|no|none|nothing(?: (?:special|particular|specific|else))?|any(?:thing)?|everything|all(?: of (?:it|them|these|this))?|whatever|(?:i )?do(?:n't|n’t| not) (?:know|care|mind)|(?:it'?s )?up to you|you (?:choose|decide)|n\/?a|[无没](?:有)?(?:什么|特别|特殊)?(?:的)?(?:偏好|要求|限制)?|都可以|都行|都要|随便|任意|全部|所有|不限|不知道|你(?:来)?(?:决定|定))[\s.!。！]*$/iu;

/** Of what a text is written in. One Chinese character says as much as a few letters. */
export function ownLanguageOf(text: string): OwnLanguage {
  const signs = text.match(/\p{Script=Han}/gu)?.length ?? 0;
  const kana = text.match(/[\p{Script=Hiragana}\p{Script=Katakana}]/gu)?.length ?? 0;
  const letters = text.match(/\p{L}/gu)?.length ?? 0;
  return kana === 0 && signs * 3 > letters - signs ? 'zh' : 'en';
}
