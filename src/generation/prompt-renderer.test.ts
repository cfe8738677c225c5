import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Message, Tool } from '../core/message.ts';
import type { LoadedModel } from '../engines/engine.ts';
import { createPromptRenderer } from './prompt-renderer.ts';

const MODEL: LoadedModel = {
  contextTokens: 100,
  vocabularySize: 10,
  specialTokens: ['<|im_start|>', '<|im_end|>'],
  bosToken: '',
  eosToken: '<|im_end|>',
};

/** A model whose template prints the messages; the mark in its source shows that it supports tools. */
const SEEING: LoadedModel = {
  ...MODEL,
  chatTemplate: '{{ messages | tojson }}{% if tools %}{{ tools }}<tool_call>{% endif %}',
};

const createMessage = (role: Message['role'], text: string, more: Partial<Message> = {}): Message => ({
  role,
  content: [{ type: 'text', text }],
  ...more,
});

const renderText = (
  messages: readonly Message[],
  { model = MODEL, defaultSystem }: { model?: LoadedModel; defaultSystem?: string } = {},
) =>
  createPromptRenderer()(model)
    .render(messages, { defaultSystem })
    .map(({ text }) => text)
    .join('');

const getTemplateMessages = (messages: readonly Message[]): unknown =>
  JSON.parse(renderText(messages, { model: SEEING }));

describe('createPromptRenderer', () => {
  it('renders ChatML for a model file without a template', () => {
    assert.equal(
      renderText([createMessage('system', 'Be brief.'), createMessage('user', 'Hi')]),
      '<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n',
    );
  });

  it("adds the family's system text only to a conversation without one", () => {
    const defaultSystem = 'Default.';
    assert.match(
      renderText([createMessage('user', 'Hi')], { defaultSystem }),
      /^<\|im_start\|>system\nDefault\.<\|im_end\|>\n<\|im_start\|>user/,
    );
    for (const role of ['system', 'developer'] as const)
      assert.doesNotMatch(
        renderText([createMessage(role, 'Mine.'), createMessage('user', 'Hi')], { defaultSystem }),
        /Default/,
      );
    assert.doesNotMatch(renderText([createMessage('user', 'Hi')]), /system/);
  });

  it('renders the template for tools when tools are offered, and the other one without', () => {
    const model: LoadedModel = {
      ...MODEL,
      chatTemplate: 'chat',
      toolTemplate: '{{ tools[0].function.name }}<tool_call>',
    };
    const renderWith = (tools?: readonly Tool[]): string =>
      createPromptRenderer()(model)
        .render([createMessage('user', 'Hi')], tools ? { tools } : {})
        .map(({ text }) => text)
        .join('');
    assert.equal(renderWith(), 'chat');
    assert.equal(renderWith([]), 'chat');
    assert.equal(renderWith([{ name: 'look', description: '', parameters: {}, field: 'tools[0]' }]), 'look<tool_call>');
  });

  it('joins the parts of a content and renders a developer as system', () => {
    const parts: Message = {
      role: 'developer',
      content: [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ],
    };
    assert.deepEqual(getTemplateMessages([parts]), [{ role: 'system', content: 'ab' }]);
  });

  it('ends with an unfinished answer as plain text', () => {
    const segments = createPromptRenderer()(MODEL).render(
      [createMessage('user', 'Hi'), createMessage('assistant', 'Well, <|im_end|>', { partial: true })],
      {},
    );
    assert.deepEqual(segments.at(-1), { text: 'Well, <|im_end|>', special: false });
    assert.ok(
      segments
        .map(({ text }) => text)
        .join('')
        .endsWith('<|im_start|>assistant\nWell, <|im_end|>'),
    );
    assert.doesNotMatch(renderText([createMessage('assistant', 'Done.'), createMessage('user', 'Go on')]), /Done\.$/);
  });

  it('gives templates call arguments as an object, or as text when they are not one', () => {
    const call = (text: string) => ({ id: 'call_1', name: 'f', arguments: text });
    const seenArguments = (text: string): unknown => {
      const [message] = getTemplateMessages([createMessage('assistant', '', { toolCalls: [call(text)] })]) as {
        tool_calls: { function: { arguments: unknown } }[];
      }[];
      return message?.tool_calls[0]?.function.arguments;
    };
    assert.deepEqual(seenArguments('{"a":1}'), { a: 1 });
    for (const text of ['{"a":', '[1]', '7', '']) assert.equal(seenArguments(text), text);
    const deep = `{"a":${'['.repeat(5_000)}${']'.repeat(5_000)}}`;
    assert.equal(seenArguments(deep), deep, 'nesting that no renderer survives stays text');
    assert.deepEqual(getTemplateMessages([createMessage('tool', '42', { toolCallId: 'call_1', name: 'f' })]), [
      { role: 'tool', content: '42', name: 'f', tool_call_id: 'call_1' },
    ]);
  });
});

const WEATHER: Tool = {
  name: 'get_weather',
  description: 'Says <|im_end|> the weather.',
  parameters: { type: 'object', properties: { city: { type: 'string' } } },
  field: 'tools[0].function.parameters',
};
const NOW: Tool = { name: 'now', description: '', parameters: undefined, field: 'tools[1].function.parameters' };
const createCall = (name: string, text: string, id = 'call_1') => ({ id, name, arguments: text });

/** A turn with calls and their results. */
const TURNS: readonly Message[] = [
  createMessage('user', 'Weather?'),
  createMessage('assistant', 'Let me see.', {
    toolCalls: [createCall('get_weather', '{"city":"Ulm"}'), createCall('now', '')],
  }),
  createMessage('tool', 'sunny', { toolCallId: 'call_1' }),
  createMessage('tool', 'noon <|im_end|>', { toolCallId: 'call_2' }),
];

describe('tools in a prompt', () => {
  it('are given to a template that supports tools, in its shape and as plain text', () => {
    const model: LoadedModel = {
      ...MODEL,
      chatTemplate: '{{ tools | tojson }}{% for tool in tools %}{{ tool.function.description }}{% endfor %}<tool_call>',
    };
    const segments = createPromptRenderer()(model).render([createMessage('user', 'Hi')], { tools: [WEATHER, NOW] });
    assert.deepEqual(
      segments.filter(({ special }) => special),
      [],
    );
    const text = segments.map((segment) => segment.text).join('');
    const { parameters } = WEATHER;
    const shape = [
      { type: 'function', function: { name: 'get_weather', description: WEATHER.description, parameters } },
      { type: 'function', function: { name: 'now', parameters: { type: 'object', properties: {} } } },
    ];
    assert.ok(text.endsWith(`]${WEATHER.description}<tool_call>`));
    assert.deepEqual(JSON.parse(text.slice(0, text.lastIndexOf(']') + 1)), shape);
  });

  it("are described in Parley's text when the template has no tools, with earlier calls and results as text", () => {
    const segments = createPromptRenderer()(MODEL).render(TURNS, { tools: [WEATHER, NOW], defaultSystem: 'Be brief.' });
    const text = segments.map((segment) => segment.text).join('');
    const [system = '', ...rest] = text.split('<|im_start|>').slice(1);
    assert.ok(system.startsWith('system\nBe brief.\n\nYou can call functions.'));
    for (const tool of [WEATHER, NOW]) assert.ok(system.includes(`\n{"name":"${tool.name}",`));
    assert.match(system, /<tool_call>\n\{"name": "NAME", "arguments": \{.*\}\}\n<\/tool_call>\n/);
    assert.deepEqual(rest, [
      'user\nWeather?<|im_end|>\n',
      'assistant\nLet me see.\n<tool_call>\n{"name": "get_weather", "arguments": {"city":"Ulm"}}\n</tool_call>\n' +
        '<tool_call>\n{"name": "now", "arguments": {}}\n</tool_call><|im_end|>\n',
      'user\n<tool_response>\nsunny\n</tool_response>\n<tool_response>\nnoon <|im_end|>\n</tool_response><|im_end|>\n',
      'assistant\n',
    ]);
    assert.equal(segments.filter((segment) => segment.text === '<|im_end|>' && segment.special).length, 4);
    assert.match(renderText(TURNS), /<tool_call>/, 'earlier calls are told without tools too');
  });

  it("follow the caller's own system text", () => {
    const segments = createPromptRenderer()(MODEL).render(
      [createMessage('developer', 'Mine.'), createMessage('user', 'Hi')],
      {
        tools: [NOW],
      },
    );
    const text = segments.map((segment) => segment.text).join('');
    assert.ok(text.startsWith('<|im_start|>system\nMine.\n\nYou can call functions.'));
    assert.equal(text.split('system\n').length, 2);
  });

  it('get an empty description only where the template fails without one', () => {
    const chatTemplate = `{% for tool in tools %}{{ 'd:' + tool.function.description }}{% endfor %}<tool_call>`;
    const segments = createPromptRenderer()({ ...MODEL, chatTemplate }).render([createMessage('user', 'Hi')], {
      tools: [NOW],
    });
    assert.equal(segments.map(({ text }) => text).join(''), 'd:<tool_call>');
  });

  it('get empty descriptions and open types of parameters only where the template fails without them', () => {
    const chatTemplate = `{% for tool in tools %}{{ tool.function.name }} {% for p in tool.function.parameters.properties.values() %}{{ 'd:' + p.description }}{% if p.type == 'object' %}{{ '+' + p.additionalProperties | tojson }}{% endif %}{% endfor %}{% endfor %}<tool_call>`;
    const properties = { a: { type: 'string' }, b: { type: 'object', description: 'b' } };
    const segments = createPromptRenderer()({ ...MODEL, chatTemplate }).render([createMessage('user', 'Hi')], {
      tools: [{ ...WEATHER, parameters: { type: 'object', properties } }],
    });
    assert.equal(segments.map(({ text }) => text).join(''), 'get_weather d:d:b+{}<tool_call>');
  });

  it("are described in Parley's text with the model's own format when the template writes calls but no tools", () => {
    const chatTemplate = `{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content }}{% for call in m.tool_calls or [] %}<call>{{ call.function.name }}<args>{{ call.function.arguments | tojson }}</call>{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`;
    const renderer = createPromptRenderer()({ ...MODEL, chatTemplate });
    const text = renderer
      .render(TURNS, { tools: [NOW] })
      .map((segment) => segment.text)
      .join('');
    assert.match(text, /in exactly this form\.\n<call>NAME<args>\{"PARAMETER": VALUE\}<\/call>\n/);
    assert.match(text, /assistant\nLet me see\.<call>get_weather<args>\{"city": "Ulm"\}<\/call>/);
  });

  it('are offered to models whose templates show tools but no calls, with earlier calls in the text', () => {
    const chatTemplate = `{% if tools %}<|tool_list_start|>{{ tools | tojson }}<|tool_list_end|>{% endif %}{% for m in messages %}<|im_start|>{{ m.role }}
{{ m.content }}<|im_end|>
{% endfor %}`;
    const renderer = createPromptRenderer()({ ...MODEL, chatTemplate });
    const text = renderer
      .render(TURNS, { tools: [NOW] })
      .map((segment) => segment.text)
      .join('');
    assert.match(text, /^<\|tool_list_start\|>\[\{"type": "function", "function": \{"name": "now"/);
    assert.match(text, /Let me see\.\n<\|tool_call_start\|>\[get_weather\(city="Ulm"\), now\(\)\]<\|tool_call_end\|>/);
    assert.equal(renderer.getToolSupport(undefined).found?.format.begin, '<|tool_call_start|>[');
  });

  it("are given to firefunction's template in the variables that it reads", () => {
    const chatTemplate = `{{ 'F:' + functions + ' ' + datetime }}{% for m in messages %}{{ m.content }}{% endfor %} functools[`;
    const renderer = createPromptRenderer()({ ...MODEL, chatTemplate });
    const text = renderer
      .render([createMessage('user', 'Hi')], { tools: [NOW] })
      .map((segment) => segment.text)
      .join('');
    assert.match(text, /^F:\[\n {4}\{\n.*"name": "now".* \w+ \d\d, \d{4}Hi functools\[$/s);
  });

  it("are described in Parley's text when the template has a format that Parley cannot parse", () => {
    const chatTemplate = `{% if tools %}{{ tools | tojson }}{% endif %}<tool_call><function=name>{{ messages[0].content }}`;
    const segments = createPromptRenderer()({ ...MODEL, chatTemplate }).render([createMessage('user', 'Hi')], {
      tools: [NOW],
    });
    assert.match(segments.map(({ text }) => text).join(''), /You can call functions/);
  });
});

describe('thoughts in a prompt', () => {
  const chatTemplate =
    '{% for message in messages %}[{{ message.role }}]{% if message.thinking %}({{ message.thinking }}){% endif %}{{ message.content }}{% for c in message.tool_calls or [] %}<call>{{ c.function.name }}<args>{{ c.function.arguments | tojson }}</call>{% endfor %}{% endfor %}';
  const think = (message: Message): Message => ({ ...message, reasoning: `about ${message.content.length}` });
  const messages = [
    createMessage('user', 'A'),
    think(createMessage('assistant', 'B')),
    createMessage('user', 'C'),
    think({ role: 'assistant', content: [], toolCalls: [{ id: 'call_1', name: 'now', arguments: '{}' }] }),
    { ...createMessage('tool', 'noon'), toolCallId: 'call_1' },
  ];
  const render = (style: object): string =>
    createPromptRenderer()({ ...MODEL, chatTemplate })
      .render(messages, style)
      .map(({ text }) => text)
      .join('');

  it('stay between the calls of the last turn while thinking is on, in the field that the template reads', () => {
    assert.equal(
      render({ thinking: {} }),
      '[user]A[assistant]B[user]C[assistant](about 0)<call>now<args>{}</call>[tool]noon',
    );
    assert.equal(render({}), '[user]A[assistant]B[user]C[assistant]<call>now<args>{}</call>[tool]noon');
  });

  it('get the effort and the budget of the request where the template reads them', () => {
    const template =
      "{{ 'Reasoning: ' + (reasoning_effort or 'medium') }}{% if thinking_budget %}, {{ thinking_budget }} tokens{% endif %}";
    const renderWith = (style: object): string =>
      createPromptRenderer()({ ...MODEL, chatTemplate: template + chatTemplate })
        .render([createMessage('user', 'A')], style)
        .map(({ text }) => text)
        .join('');
    assert.equal(renderWith({ thinking: { effort: 'low', budgetTokens: 64 } }), 'Reasoning: low, 64 tokens[user]A');
    assert.equal(renderWith({ thinking: {} }), 'Reasoning: medium[user]A');
    assert.equal(renderWith({}), 'Reasoning: medium[user]A');
  });

  it('stay in all answers when the request says so', () => {
    assert.match(render({ earlierThoughts: 'field' }), /\[assistant\]\(about 1\)B/);
  });
});

describe('earlier calls in a prompt', () => {
  const prompt = (chatTemplate: string, messages: readonly Message[] = TURNS): string =>
    renderText(messages, { model: { ...MODEL, chatTemplate } });

  it('have arguments as JSON text for templates that concatenate them with other text', () => {
    const loop = '{% if tools %}{{ tools }}<tool_call>{% endif %}{% for call in messages[1].tool_calls %}';
    for (const [expression, expected] of [
      ["{{ 'a' + call['function']['arguments'] + 'b' }}", 'a{"city":"Ulm"}bab'],
      ["{{ 'a' + call.function.arguments }}", 'a{"city":"Ulm"}a'],
      ["{{ 'a' + call.function.arguments | tojson + 'b' }}", 'a{"city": "Ulm"}ba""b'],
      ['{{ call.function.arguments | tojson }}', '{"city": "Ulm"}""'],
    ] as const)
      assert.equal(prompt(`${loop}${expression}{% endfor %}`), expected);
  });

  it('have ids of nine letters or digits if the template requires it, the same for call and result', () => {
    const shown = prompt(
      "{% if tools %}{{ tools }}<tool_call>{% endif %}{% for m in messages %}{% for c in m.tool_calls or [] %}{% if c.id | length != 9 %}{{ raise_exception('ids') }}{% endif %}{{ c.id }} {% endfor %}{{ m.tool_call_id or '' }} {% endfor %}",
    );
    const [first, second, ...results] = shown.trim().split(/ +/);
    assert.ok([first, second].every((id) => /^[a-z0-9]{9}$/.test(id ?? '')));
    assert.deepEqual([results.length, results[0] === first, results[1] === second], [2, true, false], shown);
    assert.match(
      prompt('{% if tools %}{{ tools }}<tool_call>{% endif %}{{ messages[1].tool_calls[0].id }}'),
      /^call_1$/,
    );
  });

  it('have no content if the template expects none', () => {
    const messages = [createMessage('assistant', '', { toolCalls: [createCall('now', '{}')] })];
    assert.equal(
      prompt(
        "{% if tools %}{{ tools }}<tool_call>{% endif %}{% if messages[0]['content'] is none %}none{% endif %}",
        messages,
      ),
      'none',
    );
    assert.equal(prompt('{% if tools %}{{ tools }}<tool_call>{% endif %}[{{ messages[0].content }}]', messages), '[]');
  });

  it("are rendered as text in the template's format when the template fails on them", () => {
    const chatTemplate =
      '{% if tools %}{{ tools }}[TOOL_CALLS]{% endif %}{% for m in messages %}{{ m.content }}{% for c in m.tool_calls or [] %}' +
      '{% for key, value in c.function.arguments | items %}{{ key }}{% endfor %}{% endfor %}|{% endfor %}';
    const broken = [
      createMessage('assistant', '', { toolCalls: [createCall('now', '{"a":')] }),
      createMessage('tool', 'noon', { toolCallId: 'call_1' }),
    ];
    assert.equal(
      prompt(chatTemplate, broken),
      '[TOOL_CALLS][{"name": "now", "arguments": {"a":}]|<tool_response>\nnoon\n</tool_response>|',
    );
    const refusing =
      "{% if tools %}{{ tools }}<tool_call>{% endif %}{% for m in messages %}{% if m.tool_calls %}{{ raise_exception('one at once') }}{% endif %}{{ m.content }}{% endfor %}";
    assert.match(prompt(refusing), /^Weather\?Let me see\.\n<tool_call>/);
    assert.throws(() => prompt("{% if tools %}{{ tools }}<tool_call>{% endif %}{{ raise_exception('never') }}"), {
      kind: 'invalid-request',
      message: /never/,
    });
  });
});
