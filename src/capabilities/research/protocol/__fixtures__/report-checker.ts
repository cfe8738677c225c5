import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';

const Reference = z.strictObject({
  icon: z.string().regex(/^(?:https?:\/\/.*)?$/),
  index_number: z.int().min(1),
  title: z.string(),
  description: z.string(),
  url: z.string().regex(/^(?:https?:\/\/|parley-index:)/),
});

const Found = z.strictObject({ references: z.array(Reference).optional() });

interface AnswerEvent {
  readonly status: string;
  readonly content: string;
  readonly deepResearch: object;
  readonly isLast: boolean;
}

export interface ReportChecker {
  /** Returns the faults of one event of the answer. */
  check(event: AnswerEvent): string[];
  /** Characters so far. */
  getLength(): number;
}

/** Checks that the text grows piece by piece and that each reference comes before its citation mark. */
export function createReportChecker({ hasSources }: { readonly hasSources: boolean }): ReportChecker {
  let text = '';
  let checkedLength = 0;
  let references: readonly z.output<typeof Reference>[] = [];

  const checkReferences = (sentReferences: readonly z.output<typeof Reference>[]): string[] => {
    const faults: string[] = [];
    if (!hasSources) faults.push('a question has references');
    if (sentReferences.some(({ index_number: index }, position) => index !== position + 1))
      faults.push('references are not numbered from 1 on');
    if (sentReferences.length <= references.length) faults.push('references were sent again');
    if (!isDeepStrictEqual(sentReferences.slice(0, references.length), references)) faults.push('a reference changed');
    references = sentReferences;
    return faults;
  };

  return {
    check({ status, content, deepResearch, isLast }) {
      const parsed = Found.safeParse(deepResearch);
      if (!parsed.success) return parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
      const { references: sentReferences } = parsed.data;
      if (isLast) return status === 'finished' && content === '' && !sentReferences ? [] : ['the last event has content'];
      const faults = sentReferences ? checkReferences(sentReferences) : [];
      if (status !== 'typing') faults.push(`an answer's status is ${status}`);
      if (content === '' && !sentReferences) faults.push('an answer event has no content');
      text += content;
      for (const match of text.slice(checkedLength).matchAll(/\[\[(\d+)\]\]/g)) {
        const index = Number(match[1]);
        if (index > references.length || index < 1) faults.push(`${match[0]} comes before its reference`);
      }
      // A mark may be split between two pieces; a complete mark is checked once.
      checkedLength = text.length - (/\[\[?\d*\]?$/.exec(text)?.[0].length ?? 0);
      return faults;
    },
    getLength: () => text.length,
  };
}
