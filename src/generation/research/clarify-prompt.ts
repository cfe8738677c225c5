import type { Message } from '../../core/message.ts';
import { asDataLine } from '../server-tools/as-data.ts';
import { says } from '../server-tools/decision-turns.ts';
import type { OwnLanguage, Topic } from './topic.ts';

/** Short, with examples: the smallest model of the catalogue does as they do. */
export const clarifyPrompt = ({ topic, language }: Topic): readonly Message[] => [
  says('system', TASKS[language]),
  ...EXAMPLES[language].flatMap(([asked, question]) => [says('user', asked), says('assistant', question)]),
  says('user', asDataLine(topic)),
];

const TASKS: Readonly<Record<OwnLanguage, string>> = {
  en: 'A user names a topic to be researched. Do not answer it. Ask back, in the language of the user, one short question about what the report should be about: which aspects, time or purpose.',
  zh: '用户提出一个调研主题。不要回答主题本身。请用用户的语言反问一个简短的问题，弄清报告的侧重点：关注哪些方面、什么时间范围或什么用途。',
};

const EXAMPLES: Readonly<Record<OwnLanguage, readonly (readonly [topic: string, question: string])[]>> = {
  en: [
    [
      'Electric buses in cities',
      'Which side of electric buses matters most to you: costs, batteries and charging, or experience of particular cities? And for which period or region?',
    ],
    [
      'How do vaccines work?',
      'Are you interested in vaccines in general or in one kind of them, and should the report be for laypeople or for specialists?',
    ],
  ],
  zh: [
    [
      '城市中的电动公交车',
      '您最关心电动公交车的哪个方面：成本、电池与充电，还是某些城市的实际经验？需要侧重哪个时间段或地区？',
    ],
    ['疫苗是如何起作用的？', '您想了解疫苗的总体原理，还是某一类疫苗？报告是面向普通读者还是专业人士？'],
  ],
};
