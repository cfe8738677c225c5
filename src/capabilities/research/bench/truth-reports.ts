import { readDocumentation, type DocumentationPage } from '../../../../bench/setup/documentation.ts';
import { dependsOnPrevious } from '../../../generation/citations/depends-on-previous.ts';
import { checkReport } from '../pipeline/__fixtures__/check-report.ts';
import { collectReport, createTestResearch } from '../pipeline/__fixtures__/test-research.ts';
import { splitSentences } from '../pipeline/sentences.ts';
import { estimateTokens } from '../pipeline/token-counter.ts';
import { REPORT_SIZES, type ReportSize } from '../research.ts';
import { createPageSearch } from './page-search.ts';
import { DEVELOPMENT_QUESTIONS, JUDGED_QUESTIONS, type ReportQuestion } from './report-questions.ts';

/**
 * Writes detailed and summary reports by extraction over documentation packages, and counts the sentences on the topic
 * and the answers to the question. No model runs: the plan comes from the words of the question.
 */
export async function measureReportTruth(logProgress: (text: string) => void): Promise<string> {
  const lines: string[] = [];
  for (const size of REPORT_SIZES)
    for (const [set, questions] of [
      ['development', DEVELOPMENT_QUESTIONS],
      ['judged', JUDGED_QUESTIONS],
    ] as const) {
      const judgments: ReportJudgment[] = [];
      for (const question of questions) {
        logProgress(`${size}: ${question.question}`);
        const pages = await readDocumentation(question.documentation);
        const judgment = await judgeReport(question, size, pages, logProgress);
        judgments.push(judgment);
        lines.push(formatRow(question.question, size, judgment));
      }
      lines.push(formatRow(`${set}: all`, size, sumJudgments(judgments)));
    }
  return [
    'Reports by extraction, without a model; tokens are estimated:',
    '',
    '| question | size | tokens | sentences | on the topic | or below a heading on it | answers | unsupported |',
    '| --- | --- | --- | --- | --- | --- | --- | --- |',
    ...lines,
  ].join('\n');
}

interface ReportJudgment {
  readonly tokens: number;
  readonly sentences: number;
  readonly onTopic: number;
  readonly belowTopic: number;
  readonly answers: number;
  readonly answersFound: number;
  readonly faults: number;
}

const sumJudgments = (judgments: readonly ReportJudgment[]): ReportJudgment =>
  judgments.reduce((sum, each) => ({
    tokens: sum.tokens + each.tokens,
    sentences: sum.sentences + each.sentences,
    onTopic: sum.onTopic + each.onTopic,
    belowTopic: sum.belowTopic + each.belowTopic,
    answers: sum.answers + each.answers,
    answersFound: sum.answersFound + each.answersFound,
    faults: sum.faults + each.faults,
  }));

const formatRow = (
  name: string,
  size: ReportSize,
  { tokens, sentences, onTopic, belowTopic, answers, answersFound, faults }: ReportJudgment,
): string =>
  `| ${[name, size, tokens, sentences, formatShare(onTopic, sentences), formatShare(belowTopic, sentences), `${answersFound} of ${answers}`, faults].join(' | ')} |`;

const formatShare = (part: number, whole: number): string =>
  `${part} (${((100 * part) / Math.max(1, whole)).toFixed(0)} %)`;

async function judgeReport(
  { question, topic, answers }: ReportQuestion,
  size: ReportSize,
  pages: readonly DocumentationPage[],
  logProgress: (text: string) => void,
): Promise<ReportJudgment> {
  const search = createPageSearch(pages);
  const research = createTestResearch({
    search: async ({ text, resultsMax }) => ({ results: search(text, resultsMax), findings: [] }),
    readPage: async ({ url }) => findPage(pages, url),
    answer: () => 'no',
    writer: 'extractive',
  });
  const { report, references } = collectReport(
    await research.run([question, 'Which aspect matters most?', 'No preference.'], { size }),
  );
  const faults = await checkReport({ report, references, read: ({ url }) => findPage(pages, url).passage });
  const sentences = report
    .split('\n')
    .filter((line) => /\[\[\d+\]\]/.test(line))
    .flatMap((line) => splitSentences(line))
    .map((sentence) => sentence.replaceAll(/\s*\[\[\d+\]\]/g, ''));
  const isOnTopic = (sentence: string, at: number): boolean =>
    topic.test(sentence) || (dependsOnPrevious(sentence) && topic.test(sentences[at - 1] ?? ''));
  const isBelowTopic = (sentence: string, at: number): boolean =>
    isOnTopic(sentence, at) || topic.test(findHeading(pages, sentence));
  for (const [at, sentence] of sentences.entries())
    logProgress(`${isOnTopic(sentence, at) ? '+' : isBelowTopic(sentence, at) ? '~' : '-'} ${sentence}`);
  const missing = answers.filter((answer) => !sentences.some((sentence) => answer.test(sentence)));
  for (const answer of missing) logProgress(`missing: ${answer.source}`);
  for (const fault of faults) logProgress(`fault: ${fault}`);
  return {
    tokens: estimateTokens(report),
    sentences: sentences.length,
    onTopic: sentences.filter(isOnTopic).length,
    belowTopic: sentences.filter(isBelowTopic).length,
    answers: answers.length,
    answersFound: answers.length - missing.length,
    faults: faults.length,
  };
}

/** Returns the last heading above a sentence in its source. */
function findHeading(pages: readonly DocumentationPage[], sentence: string): string {
  const quote = sentence.slice(-60);
  const page = pages.find(({ text }) => text.includes(quote));
  if (!page) return '';
  return (
    page.text
      .slice(0, page.text.indexOf(quote))
      .match(/^#+ .*$/gm)
      ?.findLast((line) => !/^#+ (?:Note|Tip|Warning|Caution|Important)\b/.test(line)) ?? ''
  );
}

function findPage(pages: readonly DocumentationPage[], url: string) {
  const page = pages.find(({ name }) => url === `https://documentation.example/${name}`);
  if (!page) throw new Error(`No page has the address ${url}.`);
  return { title: page.title, url, siteName: '', icon: '', passage: page.text };
}
