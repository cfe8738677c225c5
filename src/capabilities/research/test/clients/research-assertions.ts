import assert from 'node:assert/strict';
import type { Reference } from '../../research.ts';
import { checkReport } from '../../pipeline/__fixtures__/check-report.ts';
import type { SseFrame } from '../../../../lib/sse.ts';
import { findPhaseFaults } from '../../protocol/__fixtures__/find-phase-faults.ts';

interface Body {
  readonly output: {
    readonly message: {
      readonly phase: string;
      readonly content: string;
      readonly extra: { readonly deep_research: { readonly references?: readonly WireReference[] } };
    };
  };
}

type WireReference = Omit<Reference, 'index'> & { readonly index_number: number };

const parseBodies = (frames: readonly SseFrame[]): readonly Body[] =>
  frames.map(({ data }) => JSON.parse(data) as Body);

/** Joins the pieces of the question or the report. */
export const joinAnswer = (frames: readonly SseFrame[]): string =>
  parseBodies(frames)
    .filter(({ output }) => output.message.phase === 'answer')
    .map(({ output }) => output.message.content)
    .join('');

/** Asserts that these are the events of a complete clarifying question. */
export const assertClarifyingQuestion = (frames: readonly SseFrame[]): void =>
  assert.deepEqual(findPhaseFaults(frames, { step: 1 }), []);

/** Returns the report of these events with its last list of references. */
export function parseReport(frames: readonly SseFrame[]): { report: string; references: readonly Reference[] } {
  const lastWithReferences = parseBodies(frames).findLast(
    ({ output }) => output.message.extra.deep_research.references,
  );
  const references = lastWithReferences?.output.message.extra.deep_research.references ?? [];
  return {
    report: joinAnswer(frames),
    references: references.map(({ index_number: index, ...reference }) => ({ index, ...reference })),
  };
}

/**
 * Asserts that these are the events of a complete research run, and that its sources, read again, support the whole
 * report.
 *
 * @returns The report.
 */
export async function assertSupportedReport(
  frames: readonly SseFrame[],
  readSource: (source: { readonly url: string }) => Promise<string>,
): Promise<string> {
  assert.deepEqual(findPhaseFaults(frames, { step: 2 }), []);
  const { report, references } = parseReport(frames);
  assert.ok(references.length > 0);
  assert.deepEqual(await checkReport({ report, references, read: readSource }), []);
  return report;
}
