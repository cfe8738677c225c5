import type { JsonSchema } from '../../core/grammar.ts';
import { RESEARCH_GOAL_CHARS_MAX, RESEARCH_HEADING_CHARS_MAX, RESEARCH_TITLE_CHARS_MAX } from '../../core/limits.ts';
import type { Message } from '../../core/message.ts';
import { asDataLine } from '../server-tools/as-data.ts';
import { exchange, says } from '../server-tools/decision-turns.ts';
import type { Plan } from './kept.ts';
import type { OwnLanguage, Topic } from './topic.ts';

/** Ours, for the smallest model of the catalogue: an example says more to it than a description. */
export const planPrompt = (topic: Topic, sections: number): readonly Message[] => [
  says('system', TASKS[topic.language](sections)),
  ...exchange(askOf(EXAMPLES[topic.language].topic), EXAMPLES[topic.language].plan),
  says('user', askOf(topic)),
];

type AskedTopic = Pick<Topic, 'topic' | 'asked' | 'answer' | 'language'>;

const askOf = ({ topic, asked, answer, language }: AskedTopic): string => {
  const [first, second, third] = language === 'zh' ? ['主题', '反问', '回答'] : ['Topic', 'Asked back', 'Answer'];
  return [
    `${first}: ${asDataLine(topic)}`,
    ...(asked === '' ? [] : [`${second}: ${asDataLine(asked)}`]),
    ...(answer === '' ? [] : [`${third}: ${asDataLine(answer)}`]),
  ].join('\n');
};

const TASKS: Readonly<Record<OwnLanguage, (sections: number) => string>> = {
  en: (sections) =>
    `You plan a research report in the language of the user: a title and ${sections} different sections. A heading is a short noun phrase and states nothing. Each section has a goal and one web search query with the key words of the topic. Answer with JSON only.`,
  zh: (sections) =>
    `你为调研报告拟定计划：一个标题和 ${sections} 个不同的章节。小标题是简短的名词短语，不作任何论断。每个章节有一个目标和一条包含主题关键词的网络检索词。使用用户的语言。只输出 JSON。`,
};

const EXAMPLES: Readonly<Record<OwnLanguage, { readonly topic: AskedTopic; readonly plan: Plan }>> = {
  en: {
    topic: {
      topic: 'Electric buses in cities',
      asked: 'Which side matters most to you: costs, charging or experience of cities?',
      answer: 'Costs and charging, in Europe.',
      language: 'en',
    },
    plan: {
      title: 'Electric buses in European cities',
      sections: [
        {
          heading: 'Purchase and operating costs',
          goal: 'Find what electric buses cost compared with diesel buses',
          query: 'electric bus cost compared with diesel bus Europe',
        },
        {
          heading: 'Charging infrastructure',
          goal: 'Find how and where electric buses are charged',
          query: 'electric bus depot charging opportunity charging',
        },
        {
          heading: 'Experience of cities',
          goal: 'Find what cities with electric buses report',
          query: 'European cities electric bus fleet experience',
        },
      ],
    },
  },
  zh: {
    topic: {
      topic: '城市中的电动公交车',
      asked: '您最关心哪个方面：成本、充电还是城市经验？',
      answer: '成本和充电，欧洲的情况。',
      language: 'zh',
    },
    plan: {
      title: '欧洲城市的电动公交车',
      sections: [
        {
          heading: '购置与运营成本',
          goal: '了解电动公交车与柴油公交车的成本比较',
          query: '电动公交车 成本 柴油公交车 比较',
        },
        { heading: '充电设施', goal: '了解电动公交车如何充电', query: '电动公交车 充电站 充电方式' },
        { heading: '城市的经验', goal: '了解使用电动公交车的城市的经验', query: '欧洲 城市 电动公交车 运营 经验' },
      ],
    },
  },
};

export function planSchema(sections: number): JsonSchema {
  const text = (maxLength: number): JsonSchema => ({ type: 'string', minLength: 1, maxLength });
  return {
    type: 'object',
    properties: {
      title: text(RESEARCH_TITLE_CHARS_MAX),
      sections: {
        type: 'array',
        minItems: 1,
        maxItems: sections,
        items: {
          type: 'object',
          properties: {
            heading: text(RESEARCH_HEADING_CHARS_MAX),
            goal: text(RESEARCH_GOAL_CHARS_MAX),
            query: text(QUERY_CHARS_MAX),
          },
          required: ['heading', 'goal', 'query'],
          additionalProperties: false,
        },
      },
    },
    required: ['title', 'sections'],
    additionalProperties: false,
  };
}

const QUERY_CHARS_MAX = 100;
