import type { Message } from '../../../core/message.ts';
import { neutralizeLine } from '../../../generation/server-tools/neutralize-text.ts';
import { createTextMessage } from '../../../generation/server-tools/decision-messages.ts';
import type { ReportLanguage, Topic } from './topic.ts';

/**
 * Builds the prompt for a clarifying question. The smallest catalogue model imitates the last examples, so a question
 * stands last.
 */
export const createClarifyPrompt = ({ topic, language }: Topic): readonly Message[] => {
  const { task, label, examples } = PROMPT_TEXTS[language];
  return [
    createTextMessage('system', task),
    ...examples.flatMap(([exampleTopic, question]) => [
      createTextMessage('user', `${label}${exampleTopic}`),
      createTextMessage('assistant', question),
    ]),
    createTextMessage('user', `${label}${neutralizeLine(topic)}`),
  ];
};

interface ClarifyPromptTexts {
  readonly task: string;
  readonly label: string;
  readonly examples: readonly (readonly [topic: string, question: string])[];
}

const PROMPT_TEXTS: Readonly<Record<ReportLanguage, ClarifyPromptTexts>> = {
  en: {
    task: 'A user names a topic of a report. Do not answer. Ask the user one question, in the language of the topic: which aspects, which time or region, or for what purpose.',
    label: 'Topic: ',
    examples: [
      [
        'Electric buses in cities',
        'Which side of electric buses matters most to you: costs, batteries and charging, or experience of particular cities? And for which period or region?',
      ],
      [
        'Compare two languages for a server',
        'What should the comparison of the two languages look at: speed, tools, or how easy they are to learn? And what kind of server is it for?',
      ],
      [
        'Wie haben sich die Preise von Wohnungen verändert?',
        'Welche Seite der Preise von Wohnungen interessiert Sie: Miete, Kauf oder die Gründe? Und welches Land und welcher Zeitraum?',
      ],
      [
        'Testing code with mocks',
        'Which part of testing code with mocks do you need: first steps, its features, or its limits? And what will you use the report for?',
      ],
      [
        'Why do birds migrate, and how do they find their way?',
        'Which side of bird migration interests you most: its causes, how birds find their way, or one kind of bird? And is the report for laypeople or for specialists?',
      ],
    ],
  },
  zh: {
    task: '用户提出一个报告的主题。不要回答主题本身。请用一个简短的问题反问用户：关注哪些方面、什么时间或地区、什么用途。',
    label: '主题：',
    examples: [
      [
        '城市中的电动公交车',
        '您最关心电动公交车的哪个方面：成本、电池与充电，还是某些城市的实际经验？需要侧重哪个时间段或地区？',
      ],
      ['疫苗是如何起作用的？', '您想了解疫苗的总体原理，还是某一类疫苗？报告是面向普通读者还是专业人士？'],
      ['太阳能的前景与问题', '关于太阳能的前景与问题，您更关注技术、成本还是政策？需要侧重哪个国家或时间段？'],
    ],
  },
};
