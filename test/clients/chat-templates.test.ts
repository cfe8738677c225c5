import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import pythonResults from '../../src/generation/jinja/__fixtures__/python-results.json' with { type: 'json' };
import { createChatTemplate } from '../../src/generation/chat-template.ts';
import { CHATML_TEMPLATE } from '../../src/core/chatml.ts';
import { createPromptRenderer } from '../../src/generation/prompt-renderer.ts';
import { readRealTemplates } from '../real-templates.ts';
import { findPython } from './python.ts';
import { listRequests, SCENARIOS } from './template-scenarios.ts';

const OWN_TEMPLATES: Readonly<Record<string, string>> = {
  chatml: CHATML_TEMPLATE,
  'calls in tags': `{%- macro show(value) %}{{ value if value is string else value | tojson }}{% endmacro %}
{{- bos_token }}
{%- for message in messages %}
  {%- if message.role == 'tool' and loop.first %}{{ raise_exception('no call') }}{% endif %}
  {{- '<|' ~ message['role'] ~ '|>' ~ (message.content or '') | trim }}
  {%- for call in message.tool_calls or [] %}
    <call={{ call.function.name }}>
    {%- for name, value in call.function.arguments.items() %}
      <{{ name }}>{{ show(value) }}</{{ name }}>
    {%- endfor %}
    </call>
  {%- endfor %}
{%- endfor %}
{%- if tools %}{{ tools | map(attribute='function') | list | tojson(indent=2) }}{% endif %}
{%- if add_generation_prompt %}{{ '<|assistant|>' }}{{ '<think>' if enable_thinking is defined and enable_thinking }}{% endif %}
`,
};

type Result = { readonly result: string } | { readonly error: string };

const python = findPython('Jinja2');

/** Renders each template with each of its variables in Python. */
function renderInPython(
  jobs: readonly { readonly template: string; readonly variables: readonly unknown[] }[],
): Result[][] {
  const script = fileURLToPath(new URL('python/render_templates.py', import.meta.url));
  const { stdout, stderr, status } = spawnSync(python.path, [script], {
    input: JSON.stringify(jobs),
    encoding: 'utf8',
    env: { ...process.env, ...python.env, TZ: 'UTC' },
    maxBuffer: 256 * 1024 * 1024,
  });
  assert.equal(status, 0, stderr);
  return JSON.parse(stdout) as Result[][];
}

const TOKENS = { bos_token: '<s>', eos_token: '</s>' };
/** Tokens that texts of the scenarios contain as well. */
const SPECIAL_TOKENS = [
  '<s>',
  '</s>',
  '<|im_start|>',
  '<|im_end|>',
  '<think>',
  '</think>',
  '<tool_call>',
  '[INST]',
  '{"',
];

describe('chat templates', { skip: python.skipReason }, () => {
  it('have recorded results that are those of the present jinja2', () => {
    const { cases, variables } = pythonResults;
    const results = renderInPython(cases.map(({ template }) => ({ template, variables: [variables] })));
    assert.deepEqual(
      results.map(([result]) => result),
      cases.map((recorded) => ('result' in recorded ? { result: recorded.result } : { error: recorded.error })),
    );
  });

  const templates = { ...OWN_TEMPLATES, ...readRealTemplates() };
  const scenarios = Object.entries(SCENARIOS).map(
    ([scenario, variables]) => [scenario, { add_generation_prompt: true, ...variables }] as const,
  );
  const variables = scenarios.map(([, values]) => ({ ...TOKENS, ...values }));
  const expected = new Map<string, Result[]>();

  before(() => {
    const results = renderInPython(Object.values(templates).map((template) => ({ template, variables })));
    for (const [index, name] of Object.keys(templates).entries()) expected.set(name, results[index] ?? []);
  });

  for (const [name, source] of Object.entries(templates))
    it(`are rendered as transformers renders ${name}`, () => {
      const [bosToken, eosToken] = [TOKENS.bos_token, TOKENS.eos_token];
      const chatTemplate = createChatTemplate({ source, specialTokens: SPECIAL_TOKENS, bosToken, eosToken });
      for (const [index, [scenario, values]] of scenarios.entries()) {
        const wanted = expected.get(name)?.[index];
        assert.ok(wanted, scenario);
        if ('error' in wanted) assert.throws(() => chatTemplate.render(values), { kind: 'invalid-request' }, scenario);
        else {
          const segments = chatTemplate.render(values);
          assert.equal(segments.map(({ text }) => text).join(''), wanted.result, scenario);
        }
      }
    });

  for (const [name, source] of Object.entries(templates))
    it(`are given requests as transformers renders them: ${name}`, () => {
      const model = {
        contextTokens: 100_000,
        vocabularySize: 100_000,
        chatTemplate: source,
        specialTokens: SPECIAL_TOKENS,
        bosToken: TOKENS.bos_token,
        eosToken: TOKENS.eos_token,
      };
      const renderer = createPromptRenderer()(model);
      const { found } = renderer.getToolSupport(undefined);
      const results = expected.get(name) ?? [];
      for (const { label, messages, style, renderings } of listRequests()) {
        const hasCalls = messages.some(({ toolCalls }) => toolCalls !== undefined);
        // Parley describes tools, and writes calls, where the template does not.
        if ((style.tools && !found?.describesTools) || (hasCalls && !found?.showsCalls)) continue;
        const accepted = renderings.map((scenario) => results[scenarios.findIndex(([one]) => one === scenario)]);
        const texts = accepted.flatMap((result) => (result && 'result' in result ? [result.result] : []));
        if (texts.length === 0) continue;
        const text = renderer
          .render(messages, style)
          .map((segment) => segment.text)
          .join('');
        assert.ok(texts.includes(text), `${label}:\n${text}\n--- expected:\n${texts.join('\n---\n')}`);
      }
    });
});
