import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { RESEARCH_PLAN_QUERIES_MAX } from './limits.ts';
import { LIGHTHOUSES } from './__fixtures__/test-pages.ts';
import { createTestResearch } from './__fixtures__/test-research.ts';
import { parseStepRecord } from './step-record.ts';
import type { Plan } from './step-record.ts';

const TURNS = ['The history of lighthouses in Scotland', 'Which time?', 'The nineteenth century and its keepers'];

async function createPlan(answer: string, turns: readonly string[] = TURNS): Promise<Plan> {
  const research = createTestResearch({ pages: LIGHTHOUSES, answer: () => answer });
  const [step] = await research.run(turns, { stepsMax: 1 });
  const record = step && parseStepRecord(step);
  assert.ok(record?.type === 'plan');
  return record.plan;
}

const section = (heading: string, query: string) => ({ heading, goal: `Find ${heading}`, query });

describe('makePlan', () => {
  it('reads truncated JSON and JSON inside other text', async () => {
    const whole = JSON.stringify({
      title: 'Scottish lighthouses',
      sections: [section('Builders', 'Stevenson lighthouses'), section('Keepers', 'keepers of Scotland')],
    });
    for (const answer of [`Here it is:\n${whole}\nDone.`, `${whole.slice(0, -2)},{"heading":"Lam`]) {
      const { title, sections } = await createPlan(answer);
      assert.equal(title, 'Scottish lighthouses');
      assert.deepEqual(
        sections.slice(0, 3).map(({ heading, query }) => [heading, query]),
        [
          ['Overview', 'The history of lighthouses in Scotland'],
          ['Builders', 'history lighthouses Scotland Stevenson'],
          ['Keepers', 'keepers of Scotland'],
        ],
      );
    }
  });

  it('cleans headings and removes duplicate queries', async () => {
    const { title, sections } = await createPlan(
      JSON.stringify({
        title: '# "The towers"\n[[1]] of Scotland.',
        sections: [section('**1. builders:**', 'Stevenson'), section('Others', 'stevenson!'), section('', 'lamps')],
      }),
    );
    assert.equal(title, '"The towers" of Scotland');
    assert.equal(sections[1]?.heading, 'Builders');
    assert.ok(!sections.some(({ heading, query }) => heading === 'Others' || query === 'lamps'));
  });

  it('falls back to the words of the user', async () => {
    const { title, sections } = await createPlan('I cannot.');
    assert.equal(title, 'The history of lighthouses in Scotland');
    assert.ok(sections.length >= 3 && sections.length <= RESEARCH_PLAN_QUERIES_MAX.summary);
    assert.equal(sections[0]?.query, 'The history of lighthouses in Scotland');
    assert.equal(sections[1]?.query, 'The nineteenth century and its keepers');
    const chinese = await createPlan('不行', ['苏格兰灯塔的历史', '哪个时期？', '十九世纪']);
    assert.equal(chinese.sections[0]?.heading, '概述');
  });
});
