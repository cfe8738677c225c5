import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { renderText } from '../thoughts/__fixtures__/render-text.ts';
import { USUAL_THOUGHTS } from '../thoughts/thought-format.ts';
import { CALL_TEMPLATES } from './__fixtures__/call-templates.ts';
import { findToolSupport, type ToolSupport } from './find-tool-format.ts';
import { TOOL_FORMATS, type ToolFormatName } from './tool-formats.ts';

const find = (source: string, familyFormat?: ToolFormatName): ToolSupport =>
  findToolSupport({
    source,
    render: renderText(source),
    specialTokens: [],
    eosToken: '<|im_end|>',
    thoughts: USUAL_THOUGHTS,
    familyFormat,
  });

const TOOLS = '{% if tools %}{{ tools | tojson }}{% endif %}';
const TURNS = '{% for m in messages %}{{ m.content or "" }}';

describe('findToolSupport', () => {
  for (const [name, source] of Object.entries(CALL_TEMPLATES))
    it(`reads calls of a template that writes ${name}`, () => assert.equal(find(source).calls, 'native'));

  it('describes tools where the template has none, rejects them or only mentions them', () => {
    const refusing = `{% if tools %}{{ raise_exception('no tools') }}{% endif %}${TURNS}{% endfor %}`;
    for (const source of [`${TURNS}{% endfor %}`, refusing, `{# tools <tool_call> #}${TURNS}{% endfor %}`])
      assert.deepEqual(find(source), { calls: 'described' });
  });

  it('derives the format of a template that writes calls, but fails where it describes tools', () => {
    const call = '<call>{{ c.function.name }}|{{ c.function.arguments | tojson }}</call>';
    const refusing = `{% if tools %}{{ raise_exception('no') }}{% endif %}${TURNS}{% for c in m.tool_calls or [] %}${call}{% endfor %}{% endfor %}`;
    const { calls, found } = find(refusing);
    assert.deepEqual([calls, found?.format.before, found?.describesTools], ['native', '<call>', false]);
  });

  it('reports a template with tools that writes no calls, or in a way that rendering does not show', () => {
    assert.deepEqual(find(`${TOOLS}${TURNS}{% endfor %}`), { calls: 'unknown' });
    const upper = '{% for c in m.tool_calls or [] %}{{ c.function.name | upper }}{% endfor %}';
    assert.deepEqual(find(`${TOOLS}${TURNS}${upper}{% endfor %}`), { calls: 'unknown' });
  });

  it('uses a format that only its source suggests, but reports it', () => {
    const { calls, found } = find(`${TOOLS}Write <tool_call> and JSON.${TURNS}{% endfor %}`);
    assert.deepEqual([calls, found?.format], ['unknown', TOOL_FORMATS.hermes]);
  });

  it('knows formats that templates do not show', () => {
    const { calls, found } = find(`${TOOLS}<|tool_list_start|>${TURNS}{% endfor %}`);
    assert.deepEqual([calls, found?.showsCalls], ['native', false]);
  });

  it("trusts the format of the model's family", () => {
    const { calls, found } = find(`${TOOLS}${TURNS}{% endfor %}`, 'llama3');
    assert.deepEqual([calls, found?.format], ['native', TOOL_FORMATS.llama3]);
  });
});
