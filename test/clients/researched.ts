import assert from 'node:assert/strict';
import type { Reference } from '../../src/core/research.ts';
import { checkReport } from '../../src/generation/research/__fixtures__/check-report.ts';
import type { SseFrame } from '../../src/lib/sse.ts';
import { checkPhases } from '../../src/protocols/native/research/__fixtures__/check-phases.ts';

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

const bodiesOf = (frames: readonly SseFrame[]): readonly Body[] => frames.map(({ data }) => JSON.parse(data) as Body);

/** The question or the report that these events tell piece by piece. */
export const answerIn = (frames: readonly SseFrame[]): string =>
  bodiesOf(frames)
    .filter(({ output }) => output.message.phase === 'answer')
    .map(({ output }) => output.message.content)
    .join('');

/** That these are the events of a whole question. */
export const assertAsksBack = (frames: readonly SseFrame[]): void =>
  assert.deepEqual(checkPhases(frames, { step: 1 }), []);

/** The report that these events tell, with the references that were told last. */
export function reportIn(frames: readonly SseFrame[]): { report: string; references: readonly Reference[] } {
  const told = bodiesOf(frames).findLast(({ output }) => output.message.extra.deep_research.references);
  const references = told?.output.message.extra.deep_research.references ?? [];
  return {
    report: answerIn(frames),
    references: references.map(({ index_number: index, ...reference }) => ({ index, ...reference })),
  };
}

/**
 * That these are the events of a whole research, and that all its report says stands in the sources, which are read again.
 *
 * @returns The report.
 */
export async function assertResearched(
  frames: readonly SseFrame[],
  read: (source: { readonly url: string }) => Promise<string>,
): Promise<string> {
  assert.deepEqual(checkPhases(frames, { step: 2 }), []);
  const { report, references } = reportIn(frames);
  assert.ok(references.length > 0);
  assert.deepEqual(await checkReport({ report, references, read }), []);
  return report;
}
