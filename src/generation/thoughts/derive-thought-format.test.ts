import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { renderText } from './__fixtures__/render-text.ts';
import { ANSWER_MARK_TEMPLATE, THOUGHTLESS_TEMPLATES, THOUGHT_TEMPLATES } from './__fixtures__/thought-templates.ts';
import { deriveThoughtFormat } from './derive-thought-format.ts';
import { readThoughts } from './read-thoughts.ts';
import { THINKING_OFF, THINKING_ON } from './thinking-variables.ts';
import { findPromptEnd, USUAL_THOUGHTS, type ThoughtFormat } from './thought-format.ts';

const derive = (source: string): ThoughtFormat =>
  deriveThoughtFormat({ source, render: renderText(source), on: THINKING_ON, off: THINKING_OFF });

const renderPrompt = (source: string, switches: Readonly<Record<string, unknown>>): string =>
  renderText(source)({ ...switches, messages: [{ role: 'user', content: 'Hi' }], add_generation_prompt: true });

describe('deriveThoughtFormat', () => {
  for (const [way, { source, marks, ends, answer = {} }] of Object.entries(THOUGHT_TEMPLATES)) {
    it(`finds the marks that a template shows: ${way}`, () => {
      const format = derive(source);
      assert.deepEqual([format.open, format.close, format.isShown], [...marks, true]);
      assert.partialDeepStrictEqual(format, { answerOpenings: [], answerClose: '', ...answer });
      assert.deepEqual(
        [THINKING_ON, THINKING_OFF].map((switches) => findPromptEnd(renderPrompt(source, switches), format)),
        ends,
      );
    });

    it(`separates a thought from the answer as the template writes them: ${way}`, () => {
      const { opening, closing, answerOpenings, ...format } = derive(source);
      const text = `${opening}First,\n\nI add.${closing}${answerOpenings[0] ?? ''}Four.`;
      assert.deepEqual(readThoughts(text, { opening, closing, answerOpenings, ...format }), {
        reasoning: 'First,\n\nI add.',
        content: 'Four.',
      });
    });
  }

  for (const [way, source] of Object.entries(THOUGHTLESS_TEMPLATES))
    it(`returns the usual marks for a template that shows no thoughts: ${way}`, () => {
      assert.deepEqual(derive(source), USUAL_THOUGHTS);
    });

  it('finds a mark at the start of answers, also without thoughts', () => {
    assert.deepEqual(derive(ANSWER_MARK_TEMPLATE), { ...USUAL_THOUGHTS, answerOpenings: ['all\n'] });
  });
});
