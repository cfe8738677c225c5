import type { JsonSchema } from '../../../core/grammar.ts';
import { RESEARCH_GOAL_CHARS_MAX, RESEARCH_HEADING_CHARS_MAX, RESEARCH_TITLE_CHARS_MAX } from './limits.ts';
import type { Message } from '../../../core/message.ts';
import { neutralizeLine } from '../../../generation/server-tools/neutralize-text.ts';
import { createExampleExchange, createTextMessage } from '../../../generation/server-tools/decision-messages.ts';
import type { Plan } from './step-record.ts';
import type { ReportLanguage, Topic } from './topic.ts';

/** Builds the prompt for a plan. The smallest catalogue model plans as many sections as the examples have. */
export const createPlanPrompt = (topic: Topic, sections: number): readonly Message[] => [
  createTextMessage('system', TASKS[topic.language](sections)),
  ...EXAMPLES[topic.language].flatMap((example) =>
    createExampleExchange(formatTopic(example.topic), createExamplePlan(example, sections)),
  ),
  createTextMessage('user', formatTopic(topic)),
];

type PromptTopic = Pick<Topic, 'topic' | 'question' | 'answer' | 'language'>;

const formatTopic = ({ topic, question, answer, language }: PromptTopic): string => {
  const [first, second, third] = language === 'zh' ? ['主题', '反问', '回答'] : ['Topic', 'Asked back', 'Answer'];
  return [
    `${first}: ${neutralizeLine(topic)}`,
    ...(question === '' ? [] : [`${second}: ${neutralizeLine(question)}`]),
    ...(answer === '' ? [] : [`${third}: ${neutralizeLine(answer)}`]),
  ].join('\n');
};

const TASKS: Readonly<Record<ReportLanguage, (sections: number) => string>> = {
  en: (sections) =>
    `You plan a research report in the language of the user: a title and ${sections} different sections. A heading is a short noun phrase and states nothing. Each section has a goal and one web search query with the key words of the topic. Answer with JSON only.`,
  zh: (sections) =>
    `你为调研报告拟定计划：一个标题和 ${sections} 个不同的章节。小标题是简短的名词短语，不作任何论断。每个章节有一个目标和一条包含主题关键词的网络检索词。使用用户的语言。只输出 JSON。`,
};

interface PlanExample {
  readonly topic: PromptTopic;
  readonly title: string;
  /** As many as a plan may have. Cut to the requested number. */
  readonly sections: readonly (readonly [heading: string, goal: string, query: string])[];
}

const EXAMPLES: Readonly<Record<ReportLanguage, readonly PlanExample[]>> = {
  en: [
    {
      topic: {
        topic: 'Wooden high-rise buildings',
        question: 'Which side matters most to you: costs, safety or experience of builders?',
        answer: 'Costs and fire safety, in Europe.',
        language: 'en',
      },
      title: 'Wooden high-rise buildings in Europe',
      sections: [
        [
          'Costs of construction',
          'Find what wooden high-rises cost compared with concrete',
          'wooden high-rise construction cost Europe',
        ],
        ['Fire safety', 'Find how wooden high-rises are protected from fire', 'wooden high-rise fire safety'],
        [
          'Experience of builders',
          'Find what those say who built wooden high-rises',
          'wooden high-rise builders experience',
        ],
        ['Materials', 'Find which kinds of timber are used', 'wooden high-rise cross-laminated timber'],
        ['Carbon balance', 'Find how much carbon a wooden high-rise stores', 'wooden high-rise carbon balance'],
        [
          'Rules of building',
          'Find which rules limit the height of wooden buildings',
          'wooden high-rise building code height Europe',
        ],
      ],
    },
    {
      topic: {
        topic: 'Testing code with Mockito',
        question: 'Which part do you need: first steps, its features, or its limits?',
        answer: 'No preference.',
        language: 'en',
      },
      title: 'Testing code with Mockito',
      sections: [
        ['Creating mocks', 'Find how mocks are created with Mockito', 'Mockito create mock annotation'],
        ['Stubbing of methods', 'Find how Mockito decides what a mock returns', 'Mockito stubbing when thenReturn'],
        ['Verification of calls', 'Find how calls of a mock are checked', 'Mockito verify method calls'],
        [
          'Configuration',
          'Find how Mockito is set up and which options it has',
          'Mockito configuration options extension',
        ],
        ['Limits', 'Find what Mockito cannot mock', 'Mockito limitations final static methods'],
        ['Alternatives', 'Find which other libraries there are and how they differ', 'Mockito compared with EasyMock'],
      ],
    },
    {
      topic: {
        topic: 'How were lighthouses lit, and who kept them?',
        question: 'Which time interests you most: antiquity, the nineteenth century or today?',
        answer: 'No preference.',
        language: 'en',
      },
      title: 'Light and keepers of lighthouses',
      sections: [
        ['Lamps and fuels', 'Find what was burnt in lighthouses', 'lighthouse lamp fuel oil'],
        ['Lenses', 'Find how lenses made the light of lighthouses stronger', 'lighthouse Fresnel lens'],
        ['Work of the keepers', 'Find what lighthouse keepers had to do', 'lighthouse keeper duties'],
        [
          'Families and wages',
          'Find how lighthouse keepers lived and what they were paid',
          'lighthouse keeper family wages',
        ],
        ['Automation', 'Find when and why lighthouses lost their keepers', 'lighthouse automation last keepers'],
        ['Preservation', 'Find what old lighthouses are used for', 'lighthouse preservation museum'],
      ],
    },
  ],
  zh: [
    {
      topic: {
        topic: '木结构高层建筑',
        question: '您最关心哪个方面：成本、安全还是建造经验？',
        answer: '成本和防火，欧洲的情况。',
        language: 'zh',
      },
      title: '欧洲的木结构高层建筑',
      sections: [
        ['建造成本', '了解木结构高层建筑与混凝土建筑的成本比较', '木结构高层建筑 建造成本'],
        ['防火安全', '了解木结构高层建筑如何防火', '木结构高层建筑 防火'],
        ['建造经验', '了解建造者的经验', '木结构高层建筑 建造 经验'],
        ['材料', '了解使用哪些木材', '木结构高层建筑 交叉层压木材'],
        ['碳平衡', '了解木结构建筑储存多少碳', '木结构高层建筑 碳平衡'],
        ['建筑法规', '了解哪些法规限制木结构建筑的高度', '木结构高层建筑 法规 高度 欧洲'],
      ],
    },
  ],
};

const createExamplePlan = ({ title, sections }: PlanExample, count: number): Plan => ({
  title,
  sections: sections.slice(0, count).map(([heading, goal, query]) => ({ heading, goal, query })),
});

export function createPlanSchema(sections: number): JsonSchema {
  const text = (maxLength: number): JsonSchema => ({ type: 'string', minLength: 1, maxLength });
  return {
    type: 'object',
    properties: {
      title: text(RESEARCH_TITLE_CHARS_MAX),
      sections: {
        type: 'array',
        minItems: Math.ceil(sections / 2),
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
