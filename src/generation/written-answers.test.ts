import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readRealTemplates } from '../../test/real-templates.ts';
import type { LoadedModel, TextEngine } from '../engines/engine.ts';
import { createScriptedEngine } from '../engines/scripted/scripted-engine.ts';
import { createTestGeneration, ENTRY } from './__fixtures__/test-generation.ts';
import { createChatTemplate } from './chat-template.ts';
import { collectResult } from './collect-result.ts';
import { createPromptRenderer } from './prompt-renderer.ts';
import { THOUGHT_TEMPLATES } from './thoughts/__fixtures__/thought-templates.ts';
import { findThinkingVariables } from './thoughts/thinking-variables.ts';
import { END_TOKENS } from './tools/end-tokens.ts';
import { CALL_TEMPLATES } from './tools/__fixtures__/call-templates.ts';

/** An answer of a model, as templates take it and as Parley reports it. */
interface Answer {
  readonly content: string;
  readonly reasoning: string;
  readonly calls: readonly (readonly [name: string, values: object])[];
}

const WEATHER = ['get_weather', { city: 'Ulm "x"', days: 3 }] as const;
const TIME = ['get_time', { zone: 'UTC' }] as const;
const EMPTY: Answer = { content: '', reasoning: '', calls: [] };

const ANSWERS: Readonly<Record<string, Answer>> = {
  text: { ...EMPTY, content: 'Hello.\n\nBye' },
  'a thought and text': { ...EMPTY, content: 'Hello.', reasoning: 'I think\n\nso' },
  'a call': { ...EMPTY, calls: [WEATHER] },
  'text and a call': { ...EMPTY, content: 'Let me see.', calls: [WEATHER] },
  'a thought and a call': { ...EMPTY, reasoning: 'I think', calls: [WEATHER] },
  'two calls': { ...EMPTY, calls: [WEATHER, TIME] },
};

const TOOLS = Object.entries({ get_weather: { city: 'string', days: 'integer' }, get_time: { zone: 'string' } }).map(
  ([name, types]) => ({
    name,
    description: `${name} does it`,
    parameters: {
      type: 'object',
      properties: Object.fromEntries(Object.entries(types).map(([key, type]) => [key, { type }])),
      required: Object.keys(types).slice(0, 1),
    },
    field: 'tools',
  }),
);
const WIRE_TOOLS = TOOLS.map(({ name, description, parameters }) => ({
  type: 'function',
  function: { name, description, parameters },
}));
const QUESTION = { role: 'user', content: 'question' };

/** Texts in a template that look like special tokens. */
const findSpecialTokens = (source: string): string[] => [
  ...new Set(source.match(/<[|｜][^|｜>\s'"]{1,40}[|｜]>|<\/?(?:think|tool_call)>|\[\/?[A-Z_]{3,}\]|\[e~\[/g)),
];

type Variables = Readonly<Record<string, unknown>>;

/** Writes an answer as a template writes it in a conversation. @returns undefined where it does not show all of it. */
function writeAnswer(
  render: (variables: Variables) => string,
  answer: Answer,
  { hasTools, thinking, idNamesTool }: { hasTools: boolean; thinking: Variables; idNamesTool: boolean },
): string | undefined {
  const tools = hasTools ? { tools: WIRE_TOOLS } : {};
  const tryRender = (variables: Variables): string | undefined => {
    try {
      return render({ ...tools, ...variables, ...thinking });
    } catch {
      return undefined;
    }
  };
  const prompt = tryRender({ messages: [QUESTION], add_generation_prompt: true });
  for (const asText of [false, true])
    for (const empty of ['', null]) {
      const { content, reasoning } = answer;
      const calls = answer.calls.map(([name, values], index) => ({
        id: idNamesTool ? `functions.${name}:${index}` : `abcdefgh${index}`,
        type: 'function',
        function: { name, arguments: asText ? JSON.stringify(values) : values },
      }));
      const message = {
        role: 'assistant',
        content: content === '' ? empty : content,
        ...(reasoning === '' ? {} : { reasoning_content: reasoning, thinking: reasoning }),
        ...(calls.length > 0 ? { tool_calls: calls } : {}),
      };
      const text = tryRender({ messages: [QUESTION, message], add_generation_prompt: false });
      const shown = [content, reasoning, ...answer.calls.flatMap(([name, values]) => [name, ...Object.keys(values)])];
      const written = text?.slice(text.lastIndexOf('question'));
      if (prompt !== undefined && text?.startsWith(prompt) && shown.every((part) => written?.includes(part)))
        return text.slice(prompt.length);
    }
  return undefined;
}

/** Removes the tokens that end a turn, at which an engine stops. */
function removeEnd(text: string): string {
  const rest = text.trimEnd();
  const token = [...END_TOKENS, ...OTHER_END_TOKENS].find((one) => rest.endsWith(one));
  return token === undefined ? rest : removeEnd(rest.slice(0, -token.length));
}

const OTHER_END_TOKENS = [
  '[e~[',
  '<seed:eos>',
  '<|end_of_msg|>',
  '<|message_sep|>',
  '<｜hy_eos:opensource｜>',
  '</assistant>',
  // Cohere's template always starts another answer.
  '<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>',
];

async function readAnswer(model: LoadedModel, text: string, hasTools: boolean, thinks: boolean): Promise<Answer> {
  const scripted = createScriptedEngine({
    script: () => [{ type: 'tokens', tokens: [...text] }],
    contextTokens: 65_536,
  });
  const engine: TextEngine = { ...scripted, loadModel: async () => model };
  const thinking = thinks ? ('native' as const) : (false as const);
  const entry = { ...ENTRY, contextTokens: 65_536, abilities: { ...ENTRY.abilities, tools: true, thinking } };
  const { batches } = await createTestGeneration(engine, { entry }).generate({
    ...(thinks ? { thinking: {} } : {}),
    ...(hasTools
      ? { toolUse: { tools: TOOLS, choice: 'auto', isParallel: true, streamsComplexArguments: true } as const }
      : {}),
  });
  const blocks = (await collectResult(batches)).choices[0]?.blocks ?? [];
  const join = (type: string): string =>
    blocks
      .filter((block) => block.type === type)
      .map((block) => block.text)
      .join('')
      .trim();
  return {
    content: join('text'),
    reasoning: join('reasoning'),
    calls: blocks.flatMap((block) =>
      block.type === 'tool-call' ? [[block.name, JSON.parse(block.text) as object] as const] : [],
    ),
  };
}

/** Whether a template writes text before calls as a thought: that of gpt-oss. */
const isWrittenAsThought = (text: string, { content }: Answer): boolean =>
  content !== '' && text.includes(`<|channel|>analysis<|message|>${content}`);

const TEMPLATES: Readonly<Record<string, string>> = {
  ...Object.fromEntries(Object.entries(CALL_TEMPLATES).map(([name, source]) => [`calls: ${name}`, source])),
  ...Object.fromEntries(Object.entries(THOUGHT_TEMPLATES).map(([name, { source }]) => [`thoughts: ${name}`, source])),
  ...readRealTemplates(),
};

describe('answers as a template writes them', () => {
  let count = 0;
  for (const [name, source] of Object.entries(TEMPLATES))
    it(`are read back: ${name}`, async () => {
      const model: LoadedModel = {
        contextTokens: 65_536,
        vocabularySize: 65_536,
        chatTemplate: source,
        specialTokens: [...findSpecialTokens(source), '<s>', '</s>'],
        bosToken: '<s>',
        eosToken: '</s>',
      };
      const template = createChatTemplate({ ...model, source });
      const render = (variables: Variables): string =>
        template
          .render(variables)
          .map(({ text }) => text)
          .join('');
      const renderer = createPromptRenderer()(model);
      const thinks = renderer.findThoughtFormat(false).isShown;
      const idNamesTool = renderer.getToolSupport(undefined).found?.form?.idNamesTool === true;
      const thinking = findThinkingVariables(render)({});
      for (const [what, answer] of Object.entries(ANSWERS)) {
        const hasTools = answer.calls.length > 0;
        const text = writeAnswer(render, answer, { hasTools, thinking, idNamesTool });
        if (text === undefined || (answer.reasoning !== '' && !thinks) || isWrittenAsThought(text, answer)) continue;
        count++;
        assert.deepEqual(await readAnswer(model, removeEnd(text), hasTools, thinks), answer, `${what}: ${text}`);
      }
    });

  it('are written by most templates', (t) => {
    t.diagnostic(`${count} answers of ${Object.keys(TEMPLATES).length} templates are read back`);
    assert.ok(count > 2 * Object.keys(TEMPLATES).length, `${count} answers`);
  });
});
