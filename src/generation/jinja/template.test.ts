import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import pythonResults from './__fixtures__/python-results.json' with { type: 'json' };
import { compileTemplate, type RenderOptions } from './template.ts';
import { TemplateError, TemplateSyntaxError } from './template-error.ts';

const OPTIONS: RenderOptions = {
  constants: {},
  functions: {
    raise_exception(message = '') {
      throw new TemplateError('TemplateError', message);
    },
    strftime_now: () => '2026',
  },
};

const render = (source: string, variables: Readonly<Record<string, unknown>> = {}): string =>
  compileTemplate(source).render(variables, OPTIONS);

/** Returns the text that a template renders, or the name of Python's exception. */
function getResult(source: string): { result: string } | { error: string } {
  try {
    return { result: render(source, pythonResults.variables) };
  } catch (error) {
    if (error instanceof TemplateSyntaxError) return { error: 'TemplateSyntaxError' };
    if (error instanceof TemplateError) return { error: error.pythonName };
    throw error;
  }
}

describe('compileTemplate', () => {
  it(`renders ${pythonResults.cases.length} small templates as Python's jinja2 does, and fails where it fails`, () => {
    // test/clients/chat-templates.test.ts compares the recorded results with those of jinja2.
    assert.ok(pythonResults.cases.length > 500);
    const differences = pythonResults.cases
      .map(({ template, ...expected }) => ({ template, expected, actual: getResult(template) }))
      .filter(({ expected, actual }) => JSON.stringify(expected) !== JSON.stringify(actual));
    assert.deepEqual(differences, []);
  });

  it('names the line of a syntax error', () => {
    assert.throws(() => compileTemplate('a\n{# b\n#}{{ 1 + }}'), { message: 'line 3: unexpected output end' });
  });

  it('reports an unknown filter or test only where it is used', () => {
    assert.equal(render('{% if false %}{{ 1 | unknown }}{% endif %}a'), 'a');
    assert.throws(() => render('{{ 1 | unknown }}'), {
      pythonName: 'TemplateRuntimeError',
      message: "No filter named 'unknown'.",
    });
    assert.throws(() => render('{{ 1 is unknown }}'), { pythonName: 'TemplateRuntimeError' });
  });

  it('leaves the variables of the caller unchanged', () => {
    const variables = { list: [3, 1], dict: { a: [1] } };
    const before = structuredClone(variables);
    render('{% set x = list | sort %}{% set y = dict | items | list %}{{ x }}{{ y }}', variables);
    assert.deepEqual(variables, before);
  });

  it('treats members with the names of methods and of JavaScript properties as Python does', () => {
    assert.equal(render("{{ d['items'] }}", { d: { items: 1 } }), '1');
    assert.equal(render('{{ d.constructor }}{{ d.__proto__ }}{{ d.toString }}', { d: {} }), '');
    assert.equal(render('{{ d.constructor }}', { d: { constructor: 'x' } }), 'x');
  });
});
