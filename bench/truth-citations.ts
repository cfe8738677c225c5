import { CITATION_SOURCE_CHARS_MAX } from '../src/generation/limits.ts';
import { createPassage } from '../src/generation/citations/passage.ts';
import { CLAIM_CASES, type ClaimKind } from './citation-claims.ts';
import { readDocumentation, type DocumentationName, type DocumentationPage } from './setup/documentation.ts';

/** A sentence with its source, and whether the source says it. */
interface Claim {
  readonly kind: ClaimKind | 'verbatim';
  readonly sentence: string;
  readonly page: DocumentationPage;
}

const DOCUMENTATIONS = ['postgresql', 'python'] as const satisfies readonly DocumentationName[];

/** Sentences taken from each documentation and changed mechanically. */
const SAMPLES = 400;

/**
 * Measures the citation check on sentences about documentation packages: paraphrases, and sentences that the source does
 * not say. Every second case is judged; the check was developed with the others. No model runs.
 */
export async function measureCitationTruth(logProgress: (text: string) => void): Promise<string> {
  const pages = new Map(
    await Promise.all(DOCUMENTATIONS.map(async (name) => [name, await readDocumentation(name)] as const)),
  );
  const findPage = (documentation: (typeof DOCUMENTATIONS)[number], name: string, quote: string): DocumentationPage => {
    const page = pages.get(documentation)?.find((each) => each.name === name);
    if (!page?.text.replaceAll(/\s+/g, ' ').includes(quote))
      throw new Error(`The page ${name} of ${documentation} does not contain: ${quote}`);
    return page;
  };
  const written = CLAIM_CASES.map(({ documentation, page, quote, claims }) =>
    claims.map(([kind, sentence]): Claim => ({ kind, sentence, page: findPage(documentation, page, quote) })),
  );
  const changed = [...pages.values()].flatMap((each) => sampleClaims(each, SAMPLES));
  return [
    'Citation check, without a model:',
    '',
    '| claims | stated by the source | of them cited (recall) | not stated | of them cited | precision |',
    '| --- | --- | --- | --- | --- | --- |',
    formatRow('written, development half', written.filter((_, at) => at % 2 === 0).flat(), logProgress),
    formatRow('written, judged half', written.filter((_, at) => at % 2 === 1).flat(), logProgress),
    formatRow('changed mechanically', changed),
  ].join('\n');
}

function formatRow(name: string, claims: readonly Claim[], logProgress?: (text: string) => void): string {
  const judged = claims.map((claim) => {
    const isCited = createPassage(claim.page.text, claim.page.title).compareSentence(claim.sentence).isSupported;
    const isTrue = claim.kind === 'verbatim' || claim.kind === 'paraphrase';
    if (isCited !== isTrue)
      logProgress?.(`${name}: ${isCited ? 'cited' : 'not cited'}, ${claim.kind}: ${claim.sentence}`);
    return { ...claim, isCited, isTrue };
  });
  const count = (isWanted: (each: (typeof judged)[number]) => boolean): number => judged.filter(isWanted).length;
  const citedTrue = count(({ isTrue, isCited }) => isTrue && isCited);
  const citedFalse = count(({ isTrue, isCited }) => !isTrue && isCited);
  const kinds = [...new Set(judged.filter(({ isTrue }) => !isTrue).map(({ kind }) => kind))].map(
    (kind) =>
      `${kind} ${count((each) => each.kind === kind && each.isCited)} of ${count((each) => each.kind === kind)}`,
  );
  const percent = (part: number, whole: number): string => `${((100 * part) / Math.max(1, whole)).toFixed(0)} %`;
  const trueCount = count(({ isTrue }) => isTrue);
  const cells = [
    name,
    trueCount,
    `${citedTrue} (${percent(citedTrue, trueCount)})`,
    count(({ isTrue }) => !isTrue),
    `${citedFalse} (${kinds.join(', ')})`,
    percent(citedTrue, citedTrue + citedFalse),
  ];
  return `| ${cells.join(' | ')} |`;
}

/** Takes sentences from all pages, and changes each in the ways that it allows. */
function sampleClaims(pages: readonly DocumentationPage[], count: number): readonly Claim[] {
  const sentences = pages.flatMap((page) =>
    page.text
      .slice(0, CITATION_SOURCE_CHARS_MAX)
      .split('\n')
      .filter((line) => !line.startsWith('#'))
      .flatMap((line) => line.match(/\p{Lu}[^.!?]{40,250}\.(?=\s|$)/gu) ?? [])
      .map((sentence, at, all) => ({ page, sentence, next: all[at + 1] })),
  );
  const step = Math.max(1, Math.floor(sentences.length / count));
  return sentences
    .filter((_, at) => at % step === 0)
    .flatMap(({ page, sentence, next }) => {
      const variants: readonly (readonly [Claim['kind'], string | undefined])[] = [
        ['verbatim', sentence],
        ['number', changeNumber(sentence)],
        ['negation', negate(sentence)],
        ['neighbor', next === undefined ? undefined : splice(sentence, next)],
      ];
      return variants.flatMap(([kind, text]) => (text === undefined ? [] : [{ kind, sentence: text, page }]));
    });
}

const changeNumber = (sentence: string): string | undefined =>
  /\b\d+\b/.test(sentence) ? sentence.replace(/\b\d+\b/, (digits) => String(Number(digits) + 7)) : undefined;

const AUXILIARY = /\b(?:is|are|was|were|can|may|must|will|should|does)\b/;

const negate = (sentence: string): string | undefined =>
  AUXILIARY.test(sentence) && !/\b(?:not|no|never|cannot|without|nor|neither)\b|n't\b/.test(sentence)
    ? sentence.replace(AUXILIARY, '$& not')
    : undefined;

/** Joins the subject of one sentence and the predicate of the next. */
function splice(sentence: string, next: string): string | undefined {
  const [one, other] = [AUXILIARY.exec(sentence), AUXILIARY.exec(next)];
  if (!one || !other || one.index < 12 || other.index < 12) return undefined;
  return sentence.slice(0, one.index) + next.slice(other.index);
}
