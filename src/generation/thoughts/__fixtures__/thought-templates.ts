import type { PromptEnd, ThoughtFormat } from '../thought-format.ts';

export interface ThoughtTemplate {
  readonly source: string;
  readonly marks: readonly [open: string, close: string];
  /** State of thoughts at the end of the prompt with thinking on and off. */
  readonly ends: readonly [on: PromptEnd, off: PromptEnd];
  readonly answer?: Partial<Pick<ThoughtFormat, 'answerOpenings' | 'answerClose'>>;
}

interface TemplateParts {
  /** Text before the conversation. */
  readonly head?: string;
  /** Content of an answer. */
  readonly answer?: string;
  /** Text after the role in the prompt for an answer. */
  readonly prompt?: string;
}

const createTemplate = ({ head = '', answer = '{{ message.content }}', prompt = '' }: TemplateParts): string =>
  [
    head,
    '{% for message in messages %}',
    `<|im_start|>{{ message.role }}\n{% if message.role == 'assistant' %}${answer}{% else %}{{ message.content }}{% endif %}<|im_end|>\n`,
    '{% endfor %}',
    `{% if add_generation_prompt %}<|im_start|>assistant\n${prompt}{% endif %}`,
  ].join('');

const THINK = ['<think>', '</think>'] as const;
const CALLS =
  '{% for call in message.tool_calls %}<call>{{ call.function.name }}{{ call.function.arguments | tojson }}</call>{% endfor %}';

/** Templates that write thoughts as families of models do, by the way in which they show them. */
export const THOUGHT_TEMPLATES: Readonly<Record<string, ThoughtTemplate>> = {
  'marks around an answer, of which the second stands only before calls': {
    source: createTemplate({
      answer:
        '<|START_THINKING|>{{ message.reasoning_content or "" }}<|END_THINKING|><|START_TEXT|>{{ message.content }}{% if message.tool_calls %}<|END_TEXT|>{% endif %}',
      prompt: '<|START_THINKING|>{% if not enable_thinking %}<|END_THINKING|>{% endif %}',
    }),
    marks: ['<|START_THINKING|>', '<|END_THINKING|>'],
    ends: ['opened', 'closed'],
    answer: { answerOpenings: ['<|START_TEXT|>'], answerClose: '<|END_TEXT|>' },
  },
  'earlier thoughts in tags, and a switch that closes them': {
    source: createTemplate({
      answer: '<think>\n{{ message.reasoning_content or "" }}\n</think>\n\n{{ message.content }}',
      prompt: '{% if not enable_thinking %}<think>\n\n</think>\n\n{% endif %}',
    }),
    marks: THINK,
    ends: ['none', 'closed'],
  },
  'a prompt that always opens a thought': {
    source: createTemplate({
      answer:
        '{% if message.reasoning_content %}<think>\n{{ message.reasoning_content }}\n</think>\n\n{% endif %}{{ message.content }}',
      prompt: '<think>\n',
    }),
    marks: THINK,
    ends: ['opened', 'opened'],
  },
  'a switch that opens a thought or ends it': {
    source: createTemplate({
      answer:
        '{% if message.reasoning %}<think>{{ message.reasoning }}</think>{% else %}</think>{% endif %}{{ message.content }}',
      prompt: '{{ "<think>" if thinking else "</think>" }}',
    }),
    marks: THINK,
    ends: ['opened', 'closed'],
  },
  'other marks, and no switch': {
    source: createTemplate({
      answer:
        '{% if message.reasoning_content %}<seed:think>{{ message.reasoning_content }}</seed:think>\n{% endif %}{{ message.content }}',
    }),
    marks: ['<seed:think>', '</seed:think>'],
    ends: ['none', 'none'],
  },
  'parts of the content': {
    source: createTemplate({
      answer:
        "{% if message.content is string %}{{ message.content }}{% else %}{% for part in message.content %}{% if part.type == 'thinking' %}[THINK]{{ part.thinking }}[/THINK]{% else %}{{ part.text }}{% endif %}{% endfor %}{% endif %}",
    }),
    marks: ['[THINK]', '[/THINK]'],
    ends: ['none', 'none'],
  },
  'channels, in which the answer has marks too': {
    source: [
      "{% for message in messages %}{% if message.role == 'assistant' %}",
      '{% if message.thinking %}<|start|>assistant<|channel|>analysis<|message|>{{ message.thinking }}<|end|>{% endif %}',
      '<|start|>assistant<|channel|>final<|message|>{{ message.content }}<|return|>',
      '{% else %}<|start|>{{ message.role }}<|message|>{{ message.content }}<|end|>{% endif %}{% endfor %}',
      '{% if add_generation_prompt %}<|start|>assistant{% endif %}',
    ].join(''),
    marks: ['<|channel|>analysis<|message|>', '<|end|>'],
    ends: ['none', 'none'],
    answer: {
      answerOpenings: ['<|start|>assistant<|channel|>final<|message|>', '<|channel|>final<|message|>'],
      answerClose: '',
    },
  },
  'thoughts only before calls, and answers between marks': {
    source: createTemplate({
      answer: `{% if message.tool_calls %}<|START_THINKING|>{{ message.reasoning_content }}<|END_THINKING|>${CALLS}{% else %}<|START_RESPONSE|>{{ message.content }}<|END_RESPONSE|>{% endif %}`,
      prompt: '{% if not enable_thinking %}<|START_THINKING|><|END_THINKING|>{% endif %}',
    }),
    marks: ['<|START_THINKING|>', '<|END_THINKING|>'],
    ends: ['none', 'closed'],
    answer: { answerOpenings: ['<|START_RESPONSE|>'], answerClose: '<|END_RESPONSE|>' },
  },
  'a channel that a word names, before calls': {
    source: createTemplate({
      answer: `{% if message.reasoning and message.tool_calls %}<|channel>thought\n{{ message.reasoning }}\n<channel|>{% endif %}${CALLS}{{ message.content }}`,
      prompt: '{% if not enable_thinking %}<|channel>thought\n<channel|>{% endif %}',
    }),
    marks: ['<|channel>thought', '<channel|>'],
    ends: ['none', 'closed'],
  },
  'tags with the same parts for thoughts and answers': {
    source: createTemplate({
      answer:
        '{% if thinking %}<|open|>think<|sep|>{{ message.reasoning or "" }}<|close|>think<|sep|>{% endif %}<|open|>response<|sep|>{{ message.content }}<|close|>response<|sep|>',
      prompt: '{% if thinking %}<|open|>think<|sep|>{% else %}<|open|>response<|sep|>{% endif %}',
    }),
    marks: ['<|open|>think<|sep|>', '<|close|>think<|sep|>'],
    ends: ['opened', 'none'],
    answer: { answerOpenings: ['<|open|>response<|sep|>'], answerClose: '<|close|>response<|sep|>' },
  },
  'answers in tags on lines of their own': {
    source: createTemplate({
      answer:
        '<think>\n{{ message.reasoning_content }}\n</think>\n<answer>\n{{ message.content }}\n</answer>',
      prompt: '{% if not enable_thinking %}<think>\n\n</think>\n{% endif %}',
    }),
    marks: THINK,
    ends: ['none', 'closed'],
    answer: { answerOpenings: ['<answer>'], answerClose: '</answer>' },
  },
  'thoughts that are shown only where they are kept': {
    source: createTemplate({
      answer:
        '{% if message.reasoning_content and not clear_thinking %}<thought>{{ message.reasoning_content }}</thought>{% endif %}{{ message.content }}',
    }),
    marks: ['<thought>', '</thought>'],
    ends: ['none', 'none'],
  },
  'blocks of their own, with known marks': {
    source: createTemplate({
      answer:
        "{% if message.content is string %}{{ message.content }}{% else %}{% for block in message.content.blocks %}{% if block.type == 'thoughts' %}<|inner_prefix|>{{ block.text }}<|inner_suffix|>{% else %}{{ block.text }}{% endif %}{% endfor %}{% endif %}",
    }),
    marks: ['<|inner_prefix|>', '<|inner_suffix|>'],
    ends: ['none', 'none'],
  },
  'words that only the prompt starts with': {
    source: createTemplate({
      answer:
        '{% if message.reasoning_content %}{{ message.reasoning_content }}\n[BEGIN FINAL RESPONSE]\n{% endif %}{{ message.content }}',
      prompt: 'Here are my reasoning steps:\n',
    }),
    marks: ['Here are my reasoning steps:', '[BEGIN FINAL RESPONSE]'],
    ends: ['opened', 'opened'],
    answer: { answerClose: '[END FINAL RESPONSE]' },
  },
  'a switch that closes what the prompt opens, and no earlier thoughts': {
    source: createTemplate({ prompt: '<think>\n{% if not enable_thinking %}</think>{% endif %}' }),
    marks: THINK,
    ends: ['opened', 'closed'],
  },
  'a prompt that opens a thought, and earlier ones that are cut at their end': {
    source: createTemplate({ answer: "{{ message.content.split('</think>')[-1] }}", prompt: '<think>\n' }),
    marks: THINK,
    ends: ['opened', 'opened'],
  },
  'a mark whose end the template never mentions': {
    source: createTemplate({ prompt: '{% if enable_thinking %}◁think▷{% endif %}' }),
    marks: ['◁think▷', '◁/think▷'],
    ends: ['opened', 'none'],
  },
  'a system message that explains tags': {
    source: createTemplate({
      head: '{% if thinking %}Write your thoughts between <think></think> and your response between <response></response>.{% endif %}',
    }),
    marks: THINK,
    ends: ['none', 'none'],
    answer: { answerOpenings: ['<response>'], answerClose: '</response>' },
  },
  'marks around answers that are only cut off earlier ones': {
    source: createTemplate({
      answer: "{{ message.content.split('</think>')[-1].split('<answer>')[-1].split('</answer>')[0] }}",
    }),
    marks: THINK,
    ends: ['none', 'none'],
    answer: { answerOpenings: ['<answer>'], answerClose: '</answer>' },
  },
  'a system message that explains phrases': {
    source: createTemplate({
      head: "{% if thinking %}Write your thoughts after 'Here is my thought process:' and your response after 'Here is my response:'.{% endif %}",
    }),
    marks: ['Here is my thought process:', 'Here is my response:'],
    ends: ['none', 'none'],
  },
};

/** Templates that show no thoughts. */
export const THOUGHTLESS_TEMPLATES: Readonly<Record<string, string>> = {
  plain: createTemplate({}),
  'calls in tags': createTemplate({ answer: `{{ message.content }}${CALLS}` }),
  'parts that are printed as they are': createTemplate({ answer: '{{ message | tojson }}' }),
  'a template that fails': '{{ raise_exception("no") }}',
};

/** A template whose answers start with a mark, without thoughts. */
export const ANSWER_MARK_TEMPLATE = createTemplate({ answer: '>>>all\n{{ message.content }}', prompt: '>>>' });
