import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readRealTemplates } from '../../../test/real-templates.ts';
import { renderText } from './__fixtures__/render-text.ts';
import { THOUGHT_TEMPLATES } from './__fixtures__/thought-templates.ts';
import { deriveThoughtFormat } from './derive-thought-format.ts';
import { findThinkingVariables, THINKING_OFF } from './thinking-variables.ts';

/** Marks in the templates of the folder that do not have the usual ones. */
const OTHER_MARKS: Readonly<Record<string, readonly [open: string, close: string]>> = {
  'Apriel-1.6-15b-Thinker-fixed': ['Here are my reasoning steps:', '[BEGIN FINAL RESPONSE]'],
  'ByteDance-Seed-OSS': ['<seed:think>', '</seed:think>'],
  'CohereForAI-c4ai-command-r7b-12-2024-tool_use': ['<|START_THINKING|>', '<|END_THINKING|>'],
  'Kimi-K3': ['<|open|>think<|sep|>', '<|close|>think<|sep|>'],
  'MiniMax-M3': ['<mm:think>', '</mm:think>'],
  'google-gemma-4-31B-it': ['<|channel>thought', '<channel|>'],
  'google-gemma-4-31B-it-interleaved': ['<|channel>thought', '<channel|>'],
  'mistralai-Ministral-3-14B-Reasoning-2512': ['[THINK]', '[/THINK]'],
  'openai-gpt-oss-120b': ['<|channel|>analysis<|message|>', '<|end|>'],
  'tencent-Hy3': ['<think:opensource>', '</think:opensource>'],
};

interface KnownTemplate {
  readonly name: string;
  readonly source: string;
  /** Undefined for a template that shows no thoughts. */
  readonly marks: readonly [open: string, close: string] | undefined;
}

function readTemplates(): KnownTemplate[] {
  const own = Object.entries(THOUGHT_TEMPLATES).map(([name, { source, marks }]) => ({ name, source, marks }));
  const real = Object.entries(readRealTemplates()).map(([file, source]): KnownTemplate => {
    const name = file.slice(0, -'.jinja'.length);
    const usual = source.includes('</think>') ? (['<think>', '</think>'] as const) : undefined;
    return { name, source, marks: OTHER_MARKS[name] ?? usual };
  });
  return [...own, ...real];
}

function findMarks(source: string): readonly [open: string, close: string] | undefined {
  try {
    const render = renderText(source);
    const on = findThinkingVariables(render)({});
    const { open, close, isShown } = deriveThoughtFormat({ source, render, on, off: THINKING_OFF });
    return isShown ? [open, close] : undefined;
  } catch {
    return undefined;
  }
}

describe('marks of thoughts in templates of real models', () => {
  it('are found in at least 95 % of the templates that show any, and in no other', (t) => {
    const results = readTemplates().map(({ name, source, marks }) => ({ name, marks, found: findMarks(source) }));
    const shown = results.filter(({ marks }) => marks !== undefined);
    const wrong = results.filter(({ marks, found }) => JSON.stringify(marks) !== JSON.stringify(found));
    const missed = wrong.filter(({ marks }) => marks !== undefined);
    t.diagnostic(`${results.length} templates, ${shown.length} show thoughts, wrong: ${JSON.stringify(wrong)}`);
    assert.ok(missed.length <= shown.length * 0.05, JSON.stringify(missed));
    assert.deepEqual(
      wrong.filter(({ marks }) => marks === undefined),
      [],
    );
  });
});
